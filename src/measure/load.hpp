// How busy the machine is with the work of others: a measurement beside it says little.
#pragma once

namespace tilewright::measure {

/// The processors that others kept busy since this was made.
class OtherLoad {
 public:
  OtherLoad();
  /// On average, in processors; 0 where the system does not say. The system counts in hundredths of a second, so the
  /// figure of a shorter time is coarse.
  double processors() const;

 private:
  double started_, busy_, own_;  // seconds: on the clock, of all processors, of this process
};

}  // namespace tilewright::measure
