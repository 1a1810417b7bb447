// oneDNN: its sgemm between conversions, its matmul on FP32 operands, and its matmul on bf16, which does the whole job.
//
// The interface is the C one of version 2. Descriptors are structures of that version that the caller owns; they are
// filled and read by the library alone, so here they are bytes, more than enough of them.
#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "bench/blas_ways.hpp"
#include "bench/library.hpp"
#include "bench/peers.hpp"

namespace tilewright::bench {
namespace {

/// What is used of the library.
namespace dnnl {

struct Handle;  // of whatever kind
struct Argument {
  int role;
  Handle* memory;
};
struct Version {
  int major, minor, patch;
};
struct MemoryDescription {
  alignas(8) std::byte bytes[1024];  // 696 in 2.6
};
struct MatmulDescription {
  alignas(8) std::byte bytes[8192];  // 2800 in 2.6
};
using Extents = std::array<i64, 12>;

constexpr int cpu_engine = 1, in_order = 1, any_layout = 1, bf16_type = 2, f32_type = 3;
constexpr int source = 1, destination = 17, weights = 33;  // roles of arguments
constexpr int ask_implementation = 8, ask_weights = 131;

struct Functions {
  explicit Functions(const Library& library)
      : version(library.get<const Version*()>("dnnl_version")),
        sgemm(library
                  .get<int(char, char, i64, i64, i64, float, const float*, i64, const float*, i64, float, float*, i64)>(
                      "dnnl_sgemm")),
        engine_create(library.get<int(Handle**, int, std::size_t)>("dnnl_engine_create")),
        stream_create(library.get<int(Handle**, Handle*, unsigned)>("dnnl_stream_create")),
        stream_wait(library.get<int(Handle*)>("dnnl_stream_wait")),
        describe_strides(
            library.get<int(MemoryDescription*, int, const i64*, int, const i64*)>("dnnl_memory_desc_init_by_strides")),
        describe_layout(
            library.get<int(MemoryDescription*, int, const i64*, int, int)>("dnnl_memory_desc_init_by_tag")),
        bytes_of(library.get<std::size_t(const MemoryDescription*)>("dnnl_memory_desc_get_size")),
        equal(library.get<int(const MemoryDescription*, const MemoryDescription*)>("dnnl_memory_desc_equal")),
        memory_create(library.get<int(Handle**, const MemoryDescription*, Handle*, void*)>("dnnl_memory_create")),
        memory_destroy(library.get<int(Handle*)>("dnnl_memory_destroy")),
        matmul_describe(library.get<int(MatmulDescription*, const MemoryDescription*, const MemoryDescription*,
                                        const MemoryDescription*, const MemoryDescription*)>("dnnl_matmul_desc_init")),
        choose(library.get<int(Handle**, const void*, const Handle*, Handle*, const Handle*)>(
            "dnnl_primitive_desc_create")),
        choose_reorder(library.get<int(Handle**, const MemoryDescription*, Handle*, const MemoryDescription*, Handle*,
                                       const Handle*)>("dnnl_reorder_primitive_desc_create")),
        choice_destroy(library.get<int(Handle*)>("dnnl_primitive_desc_destroy")),
        ask(library.get<int(const Handle*, int, int, void*)>("dnnl_primitive_desc_query")),
        ask_memory(library.get<const MemoryDescription*(const Handle*, int, int)>("dnnl_primitive_desc_query_md")),
        primitive_create(library.get<int(Handle**, const Handle*)>("dnnl_primitive_create")),
        primitive_destroy(library.get<int(Handle*)>("dnnl_primitive_destroy")),
        execute(library.get<int(const Handle*, Handle*, int, const Argument*)>("dnnl_primitive_execute")),
        set_threads(library.get<void(int)>("omp_set_num_threads")) {}

  const Version* (*version)();
  int (*sgemm)(char, char, i64, i64, i64, float, const float*, i64, const float*, i64, float, float*, i64);
  int (*engine_create)(Handle**, int, std::size_t);
  int (*stream_create)(Handle**, Handle*, unsigned);
  int (*stream_wait)(Handle*);
  int (*describe_strides)(MemoryDescription*, int, const i64*, int, const i64*);
  int (*describe_layout)(MemoryDescription*, int, const i64*, int, int);
  std::size_t (*bytes_of)(const MemoryDescription*);
  int (*equal)(const MemoryDescription*, const MemoryDescription*);
  int (*memory_create)(Handle**, const MemoryDescription*, Handle*, void*);
  int (*memory_destroy)(Handle*);
  int (*matmul_describe)(MatmulDescription*, const MemoryDescription*, const MemoryDescription*,
                         const MemoryDescription*, const MemoryDescription*);
  int (*choose)(Handle**, const void*, const Handle*, Handle*, const Handle*);
  int (*choose_reorder)(Handle**, const MemoryDescription*, Handle*, const MemoryDescription*, Handle*, const Handle*);
  int (*choice_destroy)(Handle*);
  int (*ask)(const Handle*, int, int, void*);
  const MemoryDescription* (*ask_memory)(const Handle*, int, int);
  int (*primitive_create)(Handle**, const Handle*);
  int (*primitive_destroy)(Handle*);
  int (*execute)(const Handle*, Handle*, int, const Argument*);
  void (*set_threads)(int);
};

}  // namespace dnnl

void require(int status, std::string_view what) {
  if (status != 0) throw std::runtime_error(fmt::format("oneDNN: {} fails with status {}", what, status));
}

/// The library with its engine and stream.
struct Runtime {
  explicit Runtime(const Library& library) : functions(library) {
    require(functions.engine_create(&engine, dnnl::cpu_engine, 0), "creating an engine");
    require(functions.stream_create(&stream, engine, dnnl::in_order), "creating a stream");
  }
  dnnl::Functions functions;
  dnnl::Handle* engine = nullptr;  // both live as long as the process
  dnnl::Handle* stream = nullptr;
};

/// A matrix in the caller's memory.
struct Place {
  void* data;
  int type;
  i64 rows, cols, row_stride, col_stride;

  dnnl::MemoryDescription description(const dnnl::Functions& functions) const {
    const dnnl::Extents extents = {rows, cols}, strides = {row_stride, col_stride};
    dnnl::MemoryDescription description;
    require(functions.describe_strides(&description, 2, extents.data(), type, strides.data()), "describing a matrix");
    return description;
  }
};

Place place_of(const MatrixView& view) {
  return {const_cast<void*>(view.data),
          view.type == DType::bf16 ? dnnl::bf16_type : dnnl::f32_type,
          view.rows,
          view.cols,
          view.row_stride,
          view.col_stride};
}

Place place_of(const Stored& stored, i64 rows, i64 cols) {
  return {const_cast<float*>(stored.data),  dnnl::f32_type, rows, cols, stored.transposed ? 1 : stored.ld,
          stored.transposed ? stored.ld : 1};
}

/// An object of the library, given back at the end.
using Owned = std::unique_ptr<dnnl::Handle, int (*)(dnnl::Handle*)>;

/// What `create` makes.
template <class Create>
Owned own(Create create, int (*destroy)(dnnl::Handle*), std::string_view what) {
  dnnl::Handle* made = nullptr;
  require(create(&made), what);
  return {made, destroy};
}

/// A matmul on fixed places, by a primitive that was made beforehand. reordered: the library chooses a layout for B,
/// and each call brings B into it first.
class Matmul {
 public:
  Matmul(const Runtime& runtime, const Place& a, const Place& b, const Place& c, bool reordered) : runtime_(runtime) {
    const dnnl::Functions& f = runtime_.functions;
    const dnnl::MemoryDescription source = a.description(f), destination = c.description(f), given = b.description(f);
    dnnl::MemoryDescription wanted = given;
    if (reordered) {
      const dnnl::Extents extents = {b.rows, b.cols};
      require(f.describe_layout(&wanted, 2, extents.data(), b.type, dnnl::any_layout),
              "describing a layout of its own");
    }
    dnnl::MatmulDescription matmul;
    require(f.matmul_describe(&matmul, &source, &wanted, nullptr, &destination), "describing a matmul");
    const Owned choice = own([&](auto** made) { return f.choose(made, &matmul, nullptr, runtime_.engine, nullptr); },
                             f.choice_destroy, "choosing a matmul");
    const char* words = nullptr;
    if (f.ask(choice.get(), dnnl::ask_implementation, 0, &words) == 0 && words != nullptr) implementation_ = words;
    multiply_ = primitive(choice);
    a_ = memory(source, a.data);
    b_ = memory(given, b.data);
    c_ = memory(destination, c.data);

    const dnnl::MemoryDescription* const chosen = f.ask_memory(choice.get(), dnnl::ask_weights, 0);  // lives in choice
    if (f.equal(chosen, &given) != 0) return;
    copy_ = Matrix(1, static_cast<i64>(f.bytes_of(chosen) / sizeof(float) + 1), DType::f32);
    b_copy_ = memory(*chosen, copy_.view().data);
    reorder_ = primitive(own(
        [&](auto** made) { return f.choose_reorder(made, &given, runtime_.engine, chosen, runtime_.engine, nullptr); },
        f.choice_destroy, "choosing a reorder"));
  }

  void run() const {
    const dnnl::Functions& f = runtime_.functions;
    if (copies()) {
      const dnnl::Argument arguments[] = {{dnnl::source, b_.get()}, {dnnl::destination, b_copy_.get()}};
      require(f.execute(reorder_.get(), runtime_.stream, 2, arguments), "a reorder");
    }
    const dnnl::Argument arguments[] = {
        {dnnl::source, a_.get()}, {dnnl::weights, copies() ? b_copy_.get() : b_.get()}, {dnnl::destination, c_.get()}};
    require(f.execute(multiply_.get(), runtime_.stream, 3, arguments), "a matmul");
    require(f.stream_wait(runtime_.stream), "waiting");
  }

  /// Whether B is brought into another layout first.
  bool copies() const { return reorder_ != nullptr; }
  /// Whether it is the loop that serves any layout, which nobody would use for speed.
  bool is_reference() const { return implementation_.starts_with("ref"); }
  const std::string& implementation() const { return implementation_; }

 private:
  Owned memory(const dnnl::MemoryDescription& description, void* data) const {
    const dnnl::Functions& f = runtime_.functions;
    return own([&](auto** made) { return f.memory_create(made, &description, runtime_.engine, data); },
               f.memory_destroy, "creating a memory object");
  }
  Owned primitive(const Owned& choice) const {
    const dnnl::Functions& f = runtime_.functions;
    return own([&](auto** made) { return f.primitive_create(made, choice.get()); }, f.primitive_destroy,
               "creating a primitive");
  }

  const Runtime& runtime_;
  std::string implementation_;
  Matrix copy_;  // of B, in the library's layout
  Owned multiply_{nullptr, nullptr}, reorder_{nullptr, nullptr};
  Owned a_{nullptr, nullptr}, b_{nullptr, nullptr}, c_{nullptr, nullptr}, b_copy_{nullptr, nullptr};
};

class OneDnn : public Peer {
 public:
  OneDnn() : library_("libdnnl.so.2"), runtime_(library_) {
    const auto& f = runtime_.functions;
    blas_.gemm = [&f](i64 m, i64 n, i64 k, const Stored& a, const Stored& b, float beta, float* c, i64 ldc) {
      f.sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, 1.0f, a.data, a.ld, b.data, b.ld, beta, c,
              ldc);
    };
    blas_.set_threads = [&f](i64 threads) { f.set_threads(static_cast<int>(threads)); };
  }

  std::string name() const override { return "onednn"; }
  std::string file() const override { return library_.file(); }
  std::string version() const override {
    const dnnl::Version& version = *runtime_.functions.version();
    return fmt::format("oneDNN {}.{}.{}", version.major, version.minor, version.patch);
  }

  std::vector<Way> ways(const Job& job) override {
    std::vector<Way> ways = blas_ways(blas_, job);
    blas_.set_threads(job.threads);  // a primitive is made for so many
    for (const bool reordered : {false, true}) {
      add_f32_matmul(job, reordered, ways);
      if (job.a.type == DType::bf16) add_bf16_matmul(job, reordered, ways);
    }
    return ways;
  }

 private:
  std::function<void()> prepare(const Job& job) const {
    return [set = blas_.set_threads, threads = job.threads] { set(threads); };
  }

  /// A matmul that is worth a way of its own, or null.
  std::shared_ptr<Matmul> matmul(const Place& a, const Place& b, const Place& c, bool reordered) const {
    try {
      auto made = std::make_shared<Matmul>(runtime_, a, b, c, reordered);
      if (made->is_reference() || made->copies() != reordered) return nullptr;
      return made;
    } catch (const std::runtime_error&) {  // a layout that it does not take
      return nullptr;
    }
  }

  void add_f32_matmul(const Job& job, bool reordered, std::vector<Way>& ways) const {
    std::shared_ptr<Matmul> made;
    Way way = whole_way(
        "", job, job.threads, prepare(job), [&](const Stored& a, const Stored& b, float* c, i64 ldc) -> Bound {
          const i64 m = job.a.rows, n = job.b.cols, k = job.a.cols;
          made = matmul(place_of(a, m, k), place_of(b, k, n), {c, dnnl::f32_type, m, n, ldc, 1}, reordered);
          return [made] { made->run(); };
        });
    if (!made) return;
    way.name = fmt::format("matmul f32 {}{}, whole operands converted", made->implementation(),
                           reordered ? " after a reorder of B" : "");
    ways.push_back(std::move(way));
  }

  void add_bf16_matmul(const Job& job, bool reordered, std::vector<Way>& ways) const {
    const std::shared_ptr<Matmul> made = matmul(place_of(job.a), place_of(job.b), place_of(job.c), reordered);
    if (!made) return;
    ways.push_back({fmt::format("matmul bf16 {}{}", made->implementation(), reordered ? " after a reorder of B" : ""),
                    prepare(job), [made] { made->run(); }});
  }

  Library library_;
  Runtime runtime_;
  Blas blas_;
};

}  // namespace

std::unique_ptr<Peer> open_onednn() { return std::make_unique<OneDnn>(); }

}  // namespace tilewright::bench
