#include "cuda/compiler.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include <fmt/format.h>

#include <tilewright/error.hpp>

namespace tilewright::cuda {
namespace {

struct ProgramTag;
using CompilerProgram = ProgramTag*;
using CompilerResult = int;

struct Compiler {
  const char* (*get_error_string)(CompilerResult);
  CompilerResult (*version)(int* major, int* minor);
  CompilerResult (*create_program)(CompilerProgram*, const char* text, const char* name, int headers,
                                   const char* const* header_texts, const char* const* header_names);
  CompilerResult (*destroy_program)(CompilerProgram*);
  CompilerResult (*compile_program)(CompilerProgram, int options, const char* const* option_texts);
  CompilerResult (*get_log_size)(CompilerProgram, std::size_t*);
  CompilerResult (*get_log)(CompilerProgram, char*);
  CompilerResult (*get_cubin_size)(CompilerProgram, std::size_t*);
  CompilerResult (*get_cubin)(CompilerProgram, char*);
  CompilerResult (*get_ptx_size)(CompilerProgram, std::size_t*);
  CompilerResult (*get_ptx)(CompilerProgram, char*);
};

struct CompilerOrReason {
  Compiler functions{};
  std::string reason;  // empty if it can be used
};

/// Where NVRTC may be besides the linker's own places.
std::vector<std::string> candidates() {
  std::vector<std::string> names;
  for (const char* const name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) names.emplace_back(name);
  std::vector<std::string> folders;
  for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* const folder = std::getenv(variable)) folders.push_back(std::string(folder) + "/lib64/");
  }
  folders.emplace_back("/usr/local/cuda/lib64/");
  const std::size_t plain = names.size();
  for (const std::string& folder : folders) {
    for (std::size_t i = 0; i < plain; ++i) names.push_back(folder + names[i]);
  }
  return names;
}

CompilerOrReason open() {
  void* library = nullptr;
  for (const std::string& name : candidates()) {
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  CompilerOrReason result;
  if (library == nullptr) {
    result.reason =
        "the run-time compiler NVRTC is not found: libnvrtc.so is neither on the library path nor under CUDA_HOME or "
        "/usr/local/cuda";
    return result;
  }
  Compiler& c = result.functions;
  const auto need = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && result.reason.empty())
      result.reason = fmt::format("NVRTC has no {}: it is too old", name);
  };
  need(c.get_error_string, "nvrtcGetErrorString");
  need(c.version, "nvrtcVersion");
  need(c.create_program, "nvrtcCreateProgram");
  need(c.destroy_program, "nvrtcDestroyProgram");
  need(c.compile_program, "nvrtcCompileProgram");
  need(c.get_log_size, "nvrtcGetProgramLogSize");
  need(c.get_log, "nvrtcGetProgramLog");
  need(c.get_cubin_size, "nvrtcGetCUBINSize");
  need(c.get_cubin, "nvrtcGetCUBIN");
  need(c.get_ptx_size, "nvrtcGetPTXSize");
  need(c.get_ptx, "nvrtcGetPTX");
  return result;
}

const CompilerOrReason& opened() {
  static const CompilerOrReason compiler = open();
  return compiler;
}

const Compiler& compiler() {
  const CompilerOrReason& found = opened();
  if (!found.reason.empty()) {
    throw Error(ErrorCode::target,
                fmt::format("the kernel is not compiled yet, and {}; install CUDA's NVRTC, or use the target cpu",
                            found.reason));
  }
  return found.functions;
}

void check_compiler(const Compiler& c, CompilerResult result, const char* call) {
  if (result != 0) throw Error(ErrorCode::kernel, fmt::format("{} gives {}", call, c.get_error_string(result)));
}

/// The number in front of `words`, wherever the log has it; the largest, if it has it more than once.
int number_before(std::string_view log, std::string_view words) {
  int largest = 0;
  for (std::size_t at = log.find(words); at != std::string_view::npos; at = log.find(words, at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && log[begin - 1] >= '0' && log[begin - 1] <= '9') --begin;
    largest = std::max(largest, std::atoi(std::string(log.substr(begin, at - begin)).c_str()));
  }
  return largest;
}

/// An NVRTC program for the length of a scope.
struct Scope {
  const Compiler& c;
  CompilerProgram program = nullptr;
  ~Scope() {
    if (program != nullptr) c.destroy_program(&program);
  }
};

}  // namespace

Digest sources_digest() {
  static const Digest digest = [] {
    std::string all;
    for (const SourceFile& file : embedded_sources())
      all += fmt::format("{}\n{}\n{}\n", file.name, file.text.size(), file.text);
    return digest_of(all);
  }();
  return digest;
}

const std::string* compiler_missing() { return opened().reason.empty() ? nullptr : &opened().reason; }

std::string compiler_version() {
  int major = 0, minor = 0;
  check_compiler(compiler(), compiler().version(&major, &minor), "nvrtcVersion");
  return fmt::format("{}.{}", major, minor);
}

Cubin compile(const std::string& text, const std::string& architecture) {
  const Compiler& c = compiler();
  std::vector<std::string> names, texts;  // with a terminating zero, as NVRTC takes them
  for (const SourceFile& file : embedded_sources()) {
    names.emplace_back(file.name);
    texts.emplace_back(file.text);
  }
  std::vector<const char*> name_pointers, text_pointers;
  for (const std::string& name : names) name_pointers.push_back(name.c_str());
  for (const std::string& source : texts) text_pointers.push_back(source.c_str());

  Scope scope{c};
  check_compiler(c,
                 c.create_program(&scope.program, text.c_str(), "kernel.cu", static_cast<int>(names.size()),
                                  text_pointers.data(), name_pointers.data()),
                 "nvrtcCreateProgram");
  // -default-device: generic lambdas and constexpr functions carry no annotation. --fmad=false: a multiplication and an
  // addition become one rounding only where the code says so, as on every target.
  const std::string target = "--gpu-architecture=" + architecture;
  const char* const options[] = {target.c_str(), "--std=c++20",        "-default-device",
                                 "--fmad=false", "--ptxas-options=-v", "--no-source-include"};
  const CompilerResult result = c.compile_program(scope.program, static_cast<int>(std::size(options)), options);
  Cubin cubin;
  std::size_t size = 0;
  check_compiler(c, c.get_log_size(scope.program, &size), "nvrtcGetProgramLogSize");
  cubin.log.resize(size);
  check_compiler(c, c.get_log(scope.program, cubin.log.data()), "nvrtcGetProgramLog");
  while (!cubin.log.empty() && cubin.log.back() == '\0') cubin.log.pop_back();
  if (result != 0) {
    throw Error(ErrorCode::kernel, fmt::format("the kernel does not compile for {} ({}):\n{}", architecture,
                                               c.get_error_string(result), cubin.log));
  }
  check_compiler(c, c.get_cubin_size(scope.program, &size), "nvrtcGetCUBINSize");
  cubin.image.resize(size);
  check_compiler(c, c.get_cubin(scope.program, cubin.image.data()), "nvrtcGetCUBIN");
  check_compiler(c, c.get_ptx_size(scope.program, &size), "nvrtcGetPTXSize");
  cubin.ptx.resize(size);
  check_compiler(c, c.get_ptx(scope.program, cubin.ptx.data()), "nvrtcGetPTX");
  for (const char* const words : {"(C7510)", "(C7514)", "(C7517)", "wgmma.mma_async instructions are serialized"}) {
    cubin.serialised = cubin.serialised || cubin.log.find(words) != std::string::npos;
  }
  cubin.registers = number_before(cubin.log, " registers");
  cubin.spilled_bytes = number_before(cubin.log, " bytes spill stores");
  return cubin;
}

}  // namespace tilewright::cuda
