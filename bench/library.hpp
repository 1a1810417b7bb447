// A shared library that is opened at run time, if it is there.
#pragma once

#include <string>

namespace tilewright::bench {

/// Stays open until the process ends: its threads may outlive any owner.
class Library {
 public:
  /// By the loader's rules. Throws std::runtime_error with the loader's words.
  explicit Library(const char* name);

  /// The function of this name in the library or in those it needs; null if there is none.
  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }
  /// The same. Throws std::runtime_error if there is none.
  template <class Function>
  Function* get(const char* name) const {
    return reinterpret_cast<Function*>(required(name));
  }

  /// The path of the file, symbolic links followed.
  const std::string& file() const { return file_; }

 private:
  void* symbol(const char* name) const;
  void* required(const char* name) const;

  void* handle_;
  std::string file_;
};

}  // namespace tilewright::bench
