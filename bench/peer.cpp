// This library as a contender, and the list of peers; see peer.hpp.
#include "bench/peer.hpp"

#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tilewright/error.hpp>
#include <tilewright/gemm.hpp>
#include "bench/peers.hpp"

namespace tilewright::bench {
namespace {

class Tilewright : public Peer {
 public:
  explicit Tilewright(const PlanRequest& plan) : plan_(plan) {}

  std::string name() const override { return "tilewright"; }
  std::string version() const override { return "Tilewright " TILEWRIGHT_VERSION; }
  std::string file() const override { return ""; }

  std::vector<Way> ways(const Job& job) override {
    GemmOptions options;
    options.plan = plan_;
    options.threads = job.threads;
    const std::string plan = to_string(plan_for(job.a, job.b, job.c, options).plan);
    return {{plan, {}, [job, options] { gemm_into(job.a, job.b, job.c, options); }}};
  }

 private:
  PlanRequest plan_;
};

/// A peer, and what must be said to it before it is opened.
struct Known {
  std::string_view name;
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

constexpr Known known[] = {
    {"openblas", open_openblas, nothing}, {"onednn", open_onednn, nothing}, {"blis", open_blis, blis_words}};

}  // namespace

std::unique_ptr<Peer> this_library(const PlanRequest& plan) { return std::make_unique<Tilewright>(plan); }

std::vector<std::string> peer_names() {
  std::vector<std::string> names;
  for (const Known& one : known) names.emplace_back(one.name);
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
  throw Error(ErrorCode::target,
              fmt::format("there is no peer '{}'; the peers are {}", name, fmt::join(peer_names(), ", ")));
}

}  // namespace tilewright::bench
