// Running the built command as a user would: arguments in, exit code and both streams out, files in a folder of their
// own.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::test {

struct Ran {
  int status = -1;  // exit code, or 256 + the signal that ended it
  std::string out, err;
};

struct RunOptions {
  std::string out_path;     // standard output goes to this file instead of a pipe
  bool close_out = false;   // standard output is closed
  bool terminal = false;    // standard error is a terminal of 100 columns
  int signal = 0;           // sent ...
  int signal_after_us = 0;  // ... this long after the start
};

/// A temporary folder, removed with all it holds at the end. Programs run in it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /// tilewright with these arguments.
  Ran tilewright(const std::vector<std::string>& arguments, const RunOptions& options = {}) const;
  /// Python with NumPy imported as np and everything in it at hand; fails the test if the script fails. Returns its
  /// output.
  std::string python(const std::string& script) const;
  /// A shell command in which $T is the command under test.
  Ran shell(const std::string& line) const;

  bool has(const std::string& name) const { return std::filesystem::exists(path_ / name); }
  std::vector<std::string> names() const;  // of the files in it, sorted
  std::filesystem::path path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The lines that a terminal of 80 columns would break, and those that end with a blank; empty if there are none.
/// Characters are taken for one column wide.
std::string ragged_lines(const std::string& output);

}  // namespace tilewright::test
