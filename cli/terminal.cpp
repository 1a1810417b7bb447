// Standard streams, signals and the progress line; see terminal.hpp.
#include "cli/terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>

#include <fmt/format.h>

namespace tilewright::cli {
namespace {

// All that a signal handler may look at.
volatile std::sig_atomic_t writing_file = 0;
volatile std::sig_atomic_t waiting_signal = 0;
volatile std::sig_atomic_t progress_shown = 0;

constexpr std::string_view erase_line = "\r\033[K";

/// Writes to the terminal and does not care: a progress line is not a result.
void write_to_terminal(std::string_view text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

/// Ends the process by the signal itself, so that the caller's shell sees what happened.
void end_by_signal(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // inside a handler it is delivered on return
}

void on_signal(int signal) {
  if (progress_shown != 0) write_to_terminal(erase_line);
  if (writing_file != 0) {
    waiting_signal = signal;
  } else {
    end_by_signal(signal);
  }
}

/// A page of a mapped input is not there any more. Several threads may find that at once; the first one speaks.
/// The inputs are read before the output's temporary file exists, so there is nothing to clean up.
void on_lost_page(int) {
  static std::atomic_flag said = ATOMIC_FLAG_INIT;
  while (said.test_and_set()) pause();
  if (progress_shown != 0) write_to_terminal(erase_line);
  write_to_terminal(
      "tilewright: an input file was shortened while it was read, or its disk failed, and nothing was written; run the "
      "command again when the file is whole\n");
  _exit(2);
}

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

void prepare_process() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Read-only for all three: a write then fails as it would have on the closed stream.
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDONLY) < 0) return;
  }
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // nohup stays nohup
  }
  action.sa_handler = on_lost_page;
  sigaction(SIGBUS, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);  // a write past the limit on file sizes fails with EFBIG like one to a full disk
}

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno == EPIPE) end_by_signal(SIGPIPE);  // where SIGPIPE was ignored
      throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

UninterruptedSection::UninterruptedSection() { writing_file = 1; }

UninterruptedSection::~UninterruptedSection() {
  writing_file = 0;
  if (waiting_signal != 0) end_by_signal(waiting_signal);
}

Progress::Progress(std::string what) : what_(std::move(what)) {
  if (isatty(STDERR_FILENO) == 1) thread_ = std::thread(&Progress::draw_until_done, this);
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  done_changed_.notify_one();
  thread_.join();
  if (progress_shown != 0) write_to_terminal(erase_line);
  progress_shown = 0;
}

void Progress::draw_until_done() {
  using namespace std::chrono_literals;
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  auto wait = 2000ms;
  while (!done_changed_.wait_for(lock, wait, [this] { return done_; })) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    progress_shown = 1;
    write_to_terminal(fmt::format("{}{}", erase_line, progress_line(what_, fraction_, seconds, terminal_columns())));
    wait = 200ms;
  }
}

std::string progress_line(std::string_view what, double fraction, double seconds, int columns) {
  if (fraction < 0)
    return fmt::format("{}  {}", what, duration(seconds)).substr(0, static_cast<std::size_t>(columns - 1));
  const double left = fraction > 0 ? seconds / fraction * (1 - fraction) : 0;
  const std::string tail = fmt::format("{:3.0f} %  {}", fraction * 100, fraction > 0 ? duration(left) + " left" : "");
  const int room = std::min(40, columns - 8 - static_cast<int>(what.size() + tail.size()));
  if (room < 5) return tail.substr(0, static_cast<std::size_t>(columns - 1));
  const auto filled = static_cast<std::size_t>(fraction * room), width = static_cast<std::size_t>(room);
  return fmt::format("{}  [{}{}]  {}", what, std::string(filled, '#'), std::string(width - filled, '.'), tail);
}

}  // namespace tilewright::cli
