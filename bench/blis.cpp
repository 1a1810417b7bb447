// BLIS: sgemm and sgemv between conversions, through its BLAS interface.
#include <memory>

#include <fmt/format.h>

#include "bench/cblas.hpp"
#include "bench/library.hpp"
#include "bench/peers.hpp"

namespace tilewright::bench {
namespace {

class Blis : public Peer {
 public:
  Blis()
      : library_("libblis.so.4"),
        blas_(cblas::functions_of(
            library_, [set = library_.get<void(i64)>("bli_thread_set_num_threads")](i64 threads) { set(threads); })) {
    library_.get<void()>("bli_init")();  // asked for its architecture before that, it ends the process
  }

  std::string name() const override { return "blis"; }
  std::string file() const override { return library_.file(); }

  std::string version() const override {
    std::string text = "BLIS";
    if (auto* const number = library_.find<char*()>("bli_info_get_version_str")) text += fmt::format(" {}", number());
    auto* const id = library_.find<int()>("bli_arch_query_id");
    auto* const words = library_.find<char*(int)>("bli_arch_string");
    if (id != nullptr && words != nullptr) text += fmt::format(", kernels for {}", words(id()));
    return text;
  }

  std::vector<Way> ways(const Job& job) override { return blas_ways(blas_, job); }

 private:
  Library library_;
  Blas blas_;
};

}  // namespace

std::unique_ptr<Peer> open_blis() { return std::make_unique<Blis>(); }

}  // namespace tilewright::bench
