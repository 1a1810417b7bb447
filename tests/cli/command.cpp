// Running programs; see command.hpp.
#include "tests/cli/command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

const std::string command_variable = "T=" TILEWRIGHT_COMMAND "; ";

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

struct Pipe {
  int read_end = -1, write_end = -1;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
  return {ends[0], ends[1]};
}

Pipe make_terminal() {
  int master = -1, slave = -1;
  winsize size{};
  size.ws_col = 100;
  size.ws_row = 30;
  if (openpty(&master, &slave, nullptr, nullptr, &size) != 0) fail("openpty");
  fcntl(master, F_SETFD, FD_CLOEXEC);
  fcntl(slave, F_SETFD, FD_CLOEXEC);
  return {master, slave};
}

/// Reads both ends until both are closed; sends the signal when its time has come.
void collect(int out, int err, pid_t child, const RunOptions& options, Ran& ran) {
  pollfd ends[] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  std::string* texts[] = {&ran.out, &ran.err};
  int open_ends = out >= 0 ? 2 : 1;
  const auto start = std::chrono::steady_clock::now();
  bool sent = options.signal == 0;
  while (open_ends > 0) {
    const auto passed =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
    if (!sent && passed >= options.signal_after_us) {
      kill(child, options.signal);
      sent = true;
    }
    poll(ends, 2, sent ? 1000 : 1);
    for (int i = 0; i < 2; ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      char buffer[65536];
      const ssize_t got = read(ends[i].fd, buffer, sizeof buffer);
      if (got > 0) {
        texts[i]->append(buffer, static_cast<std::size_t>(got));
      } else {  // the end; a terminal says so by EIO
        close(ends[i].fd);
        ends[i].fd = -1;
        --open_ends;
      }
    }
  }
}

Ran run(const std::filesystem::path& folder, const std::vector<std::string>& words, const RunOptions& options) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const Pipe err = options.terminal ? make_terminal() : make_pipe();
  Pipe out;
  if (!options.out_path.empty()) {
    out.write_end = open(options.out_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (out.write_end < 0) fail(options.out_path.c_str());
  } else if (!options.close_out) {
    out = make_pipe();
  }
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    if (chdir(folder.c_str()) != 0) _exit(126);
    dup2(err.write_end, STDERR_FILENO);
    if (options.close_out) {
      close(STDOUT_FILENO);
    } else {
      dup2(out.write_end, STDOUT_FILENO);
    }
    execv(argv[0], argv.data());
    _exit(127);
  }
  if (out.write_end >= 0) close(out.write_end);
  close(err.write_end);
  Ran ran;
  collect(out.read_end, err.read_end, child, options, ran);
  int status = 0;
  if (waitpid(child, &status, 0) != child) fail("waitpid");
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
  return ran;
}

}  // namespace

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "tilewright-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) fail("mkdtemp");
  path_ = name;
}

Folder::~Folder() {
  std::error_code none;
  std::filesystem::remove_all(path_, none);
}

Ran Folder::tilewright(const std::vector<std::string>& arguments, const RunOptions& options) const {
  std::vector<std::string> line;
  line.emplace_back(TILEWRIGHT_COMMAND);
  line.insert(line.end(), arguments.begin(), arguments.end());
  return run(path_, line, options);
}

std::string Folder::python(const std::string& script) const {
  const Ran ran =
      run(path_, {TILEWRIGHT_PYTHON, "-B", "-c", std::string("import json\nimport numpy as np\n").append(script)}, {});
  EXPECT_EQ(ran.status, 0) << ran.err;
  return ran.out;
}

Ran Folder::shell(const std::string& line) const {
  return run(path_, {"/bin/bash", "-c", std::string(command_variable).append(line)}, {});
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string ragged_lines(const std::string& output) {
  std::string ragged;
  for (std::size_t at = 0, end = 0; at < output.size(); at = end + 1) {
    end = std::min(output.find('\n', at), output.size());
    const std::string line = output.substr(at, end - at);
    const auto columns = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;  // of a character's bytes in UTF-8, the first
    });
    if (columns > 80 || line.ends_with(' ')) ragged.append(line).append("|\n");
  }
  return ragged;
}

}  // namespace tilewright::test
