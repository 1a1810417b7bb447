// This library as a contender, and the list of peers; see peer.hpp.
#include "bench/peer.hpp"

#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tilewright/error.hpp>
#include <tilewright/gemm.hpp>
#include "bench/gpu.hpp"
#include "bench/peers.hpp"

namespace tilewright::bench {
namespace {

class Tilewright : public Peer {
 public:
  explicit Tilewright(std::vector<AskedPlan> plans) : plans_(std::move(plans)) {}

  std::string name() const override { return "tilewright"; }
  std::string version() const override { return "Tilewright " TILEWRIGHT_VERSION; }
  std::string file() const override { return ""; }

  /// One for each plan. Of several, one that a case does not allow is a way that fails.
  std::vector<Way> ways(const Job& job) override {
    std::vector<Way> ways;
    for (const AskedPlan& asked : plans_) {
      try {
        ways.push_back(way_of(asked, job));
      } catch (const Error& error) {
        if (plans_.size() == 1) throw;
        ways.push_back({asked.text, {}, [error] { throw error; }});
      }
    }
    return ways;
  }

 private:
  static Way way_of(const AskedPlan& asked, const Job& job) {
    GemmOptions options;
    options.plan = asked.request;
    options.workspace_bytes = asked.workspace_bytes;
    options.threads = job.threads;
    const std::string plan = to_string(plan_for(job.a, job.b, job.c, options).plan);
    if (job.turns == nullptr) return {plan, {}, [job, options] { gemm_into(job.a, job.b, job.c, options); }};
    options.stream = job.turns->stream();
    return {plan, {}, [turns = job.turns, options] {
              const Job set = turns->next();
              gemm_into(set.a, set.b, set.c, options);
            }};
  }

  std::vector<AskedPlan> plans_;
};

/// A peer, and what must be said to it before it is opened.
struct Known {
  std::string_view name, target;
  std::unique_ptr<Peer> (*open)();
  std::vector<std::pair<std::string, std::string>> (*words)();
};

std::vector<std::pair<std::string, std::string>> nothing() { return {}; }

/// BLIS knows processors by their model numbers, and takes slower kernels on those that are younger than itself.
std::vector<std::pair<std::string, std::string>> blis_words() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    return {{"BLIS_ARCH_TYPE", "skx"}};
#endif
  return {};
}

constexpr Known known[] = {{"openblas", "cpu", open_openblas, nothing},  {"onednn", "cpu", open_onednn, nothing},
                           {"blis", "cpu", open_blis, blis_words},       {"cublas", "cuda", open_cublas, nothing},
                           {"cublaslt", "cuda", open_cublaslt, nothing}, {"pad", "cuda", open_pad, nothing}};

}  // namespace

std::unique_ptr<Peer> this_library(const PlanRequest& plan) {
  return this_library(std::vector<AskedPlan>{{"", plan, 0}});
}
std::unique_ptr<Peer> this_library(std::vector<AskedPlan> plans) {
  return std::make_unique<Tilewright>(std::move(plans));
}

std::vector<std::string> peer_names(std::string_view target) {
  std::vector<std::string> names;
  for (const Known& one : known) {
    if (one.target == target) names.emplace_back(one.name);
  }
  return names;
}

OpenedPeer open_peer(std::string_view name) {
  for (const Known& one : known) {
    if (one.name != name) continue;
    OpenedPeer opened;
    opened.name = name;
    opened.told = one.words();
    for (const auto& [variable, value] : opened.told) setenv(variable.c_str(), value.c_str(), 1);
    try {
      opened.peer = one.open();
    } catch (const std::runtime_error& error) {
      opened.missing = error.what();
    }
    return opened;
  }
  throw Error(ErrorCode::target, fmt::format("there is no peer '{}'; the peers are {} on a CPU and {} on a GPU", name,
                                             fmt::join(peer_names("cpu"), ", "), fmt::join(peer_names("cuda"), ", ")));
}

}  // namespace tilewright::bench
