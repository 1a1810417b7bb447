// See team.hpp.
#include "bench/team.hpp"

namespace tilewright::bench {

Team::Team(i64 threads) {
  for (i64 member = 1; member < threads; ++member) others_.emplace_back(&Team::serve, this, member);
}

Team::~Team() {
  work_ = nullptr;
  ++number_;
  number_.notify_all();
  for (std::thread& thread : others_) thread.join();
}

void Team::run(const std::function<void(i64)>& work) {
  if (!others_.empty()) {
    work_ = &work;
    working_ = static_cast<i64>(others_.size());
    ++number_;
    number_.notify_all();
  }
  work(0);
  for (i64 left = working_; left != 0; left = working_) working_.wait(left);
}

void Team::serve(i64 member) {
  for (unsigned done = 0;;) {
    number_.wait(done);
    done = number_;
    if (work_ == nullptr) return;
    (*work_)(member);
    if (--working_ == 0) working_.notify_one();
  }
}

}  // namespace tilewright::bench
