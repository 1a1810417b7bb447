// See environment.hpp.
#include "bench/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

namespace tilewright::bench {
namespace {

constexpr std::string_view found_before = "TILEWRIGHT_BENCH_FOUND_";

/// The variables whose names pass `wanted`.
template <class Wanted>
Variables variables(Wanted wanted) {
  Variables found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    std::string name(text.substr(0, equals));
    if (wanted(name)) found.emplace_back(std::move(name), text.substr(equals + 1));
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// The arguments that this process was started with.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string word; std::getline(file, word, '\0');) arguments.push_back(word);
  return arguments;
}

void start_again() {
  std::vector<std::string> arguments = own_arguments();
  if (arguments.empty()) return;
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  execv("/proc/self/exe", words.data());
}

}  // namespace

bool speaks_to_peers(const std::string& name) {
  constexpr std::array<std::string_view, 13> prefixes = {"OPENBLAS_",
                                                         "GOTO",
                                                         "OMP_",
                                                         "GOMP_",
                                                         "KMP_",
                                                         "BLIS_",
                                                         "DNNL_",
                                                         "ONEDNN_",
                                                         "MKL_",
                                                         "BLAS_",
                                                         "CUBLAS",
                                                         "NVIDIA_TF32",
                                                         "CUDA_LAUNCH_BLOCKING"};
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

Variables variables_for_peers() { return variables(speaks_to_peers); }

Variables restart_without_variables() {
  const Variables now = variables_for_peers();
  for (const auto& [name, value] : now) {
    setenv((std::string(found_before) + name).c_str(), value.c_str(), 1);
    unsetenv(name.c_str());
  }
  if (!now.empty()) start_again();
  Variables found = variables([](const std::string& name) { return name.starts_with(found_before); });
  for (auto& [name, value] : found) name.erase(0, found_before.size());
  return found;
}

}  // namespace tilewright::bench
