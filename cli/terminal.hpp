// What the command owes its surroundings: results on standard output that are never silently lost, progress on a
// terminal, and an interruption that leaves no half-written file.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace tilewright::cli {

/// Opens standard streams that the caller has closed, so that no file of ours becomes one, and catches SIGINT, SIGTERM
/// and SIGHUP. A limit on file sizes (SIGXFSZ) becomes an error of the write, an input that is shortened while it is
/// read (SIGBUS) a sentence and exit code 2. To be called before the first thread starts.
void prepare_process();

/// Writes to standard output at once. Throws std::system_error if it cannot be written; ends the process by SIGPIPE if
/// the reader has gone.
void print(std::string_view text);

/// While one exists, SIGINT, SIGTERM and SIGHUP wait for its end. Around the writing of a file: the signal then finds
/// either the old file or the new one. The wait lasts as long as the file takes to write.
class UninterruptedSection {
 public:
  UninterruptedSection();
  ~UninterruptedSection();
  UninterruptedSection(const UninterruptedSection&) = delete;
  UninterruptedSection& operator=(const UninterruptedSection&) = delete;
};

/// A line on standard error that tells how far long work is: a bar once a fraction is known, the elapsed time before.
/// Appears after two seconds and only on a terminal; a thread of its own draws it, so the work needs not call often.
/// Removed in the destructor.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// 0 to 1. Callable from any thread.
  void update(double fraction) { fraction_ = fraction; }

 private:
  void draw_until_done();

  std::string what_;
  std::atomic<double> fraction_ = -1;  // unknown
  std::mutex mutex_;
  std::condition_variable done_changed_;
  bool done_ = false;
  std::thread thread_;
};

/// The text of the line for a terminal of `columns`: "verifying  [######......]  50 %  3 s left".
std::string progress_line(std::string_view what, double fraction, double seconds, int columns);

}  // namespace tilewright::cli
