// gemm_into on views of a device: the library's own plan and every tile of its table, all types, all layouts; operands
// in two places are refused by name.
#include <fmt/format.h>

#include <tilewright/gemm.hpp>
#include "plan/gpu_clusters.hpp"
#include "plan/gpu_planner.hpp"
#include "tests/cuda/device/cases.hpp"
#include "tests/oracle/judge.hpp"
#include "tests/oracle/random.hpp"
#include "tests/shapes/shapes.hpp"

namespace device_check {
namespace {

using shapes::Shape;

double whole(i64 seed, i64 i, i64 j) { return static_cast<double>((i * 7 + j * 5 + i * j + seed) % 7 - 3); }

struct Setup {
  Shape shape;
  Type in, out;
  const Layout *la, *lb, *lc;
  Edge edge;
  std::string plan;  // empty: the library's choice
};

std::string multiply(Worker& worker, const Setup& t) {
  Matrix a(worker, 0, t.in, t.shape.m, t.shape.k, *t.la, t.edge);
  Matrix b(worker, 1, t.in, t.shape.k, t.shape.n, *t.lb, t.edge);
  Matrix c(worker, 2, t.out, t.shape.m, t.shape.n, *t.lc, t.edge);
  a.fill_input([](i64 i, i64 j) { return whole(1, i, j); });
  b.fill_input([](i64 i, i64 j) { return whole(2, i, j); });
  c.fill_output();
  GemmOptions options;
  options.plan = parse_plan(t.plan);
  options.stream = worker.stream;
  if (options.plan.packing) options.workspace_bytes = i64{1} << 26;
  const std::string plan = to_string(plan_for(a.view(), b.view(), c.view(), options).plan);
  for (const std::string& part : worker.without) {
    if (plan.find(part) != std::string::npos) throw LeftOut();
  }
  gemm_into(a.view(), b.view(), c.view(), options);
  c.download();
  const oracle::Claim claim{"cuda", plan, fmt::format("a {}; b {}; c {}", a.describe(), b.describe(), c.describe()),
                            t.shape.k};
  oracle::Verdict verdict = oracle::judge(claim, oracle::exact_bits_of(a.cells(), b.cells(), t.out), c.cells());
  if (c.overwritten_guards() > 0) verdict.report += "guard cells overwritten\n";
  return verdict.report;
}

std::string two_places(Worker& worker) {
  Matrix a(worker, 0, Type::f16, 8, 8, input_layouts()[0], Edge::end);
  Matrix c(worker, 2, Type::f16, 8, 8, output_layouts()[0], Edge::end);
  const std::vector<f16> host(64);
  try {
    gemm_into(a.view(), view_of(host.data(), 8, 8, 8), c.view());
  } catch (const Error& error) {
    const std::string words = error.what();
    const bool named = words.find("a lies on device 0 and b on the host") != std::string::npos;
    return error.code() == ErrorCode::device && named ? "" : "refused with other words: " + words;
  }
  return "an operand on the host is not refused";
}

/// Products with an extent of 0: nothing is written, or zeros.
std::string empty(Worker& worker) {
  Matrix a(worker, 0, Type::f16, 5, 0, input_layouts()[0], Edge::end);
  Matrix b(worker, 1, Type::f16, 0, 7, input_layouts()[0], Edge::end);
  Matrix c(worker, 2, Type::f16, 5, 7, output_layouts()[1], Edge::end);
  c.fill_output();
  GemmOptions options;
  options.stream = worker.stream;
  gemm_into(a.view(), b.view(), c.view(), options);
  c.download();
  for (const std::uint32_t bits : oracle::bits_of(c.cells())) {
    if (bits != 0) return fmt::format("an empty sum has the bits {:x}", bits);
  }
  return c.overwritten_guards() > 0 ? "guard cells overwritten" : "";
}

}  // namespace

void add_operator_cases(std::vector<Case>& cases, bool reduced) {
  const auto& inputs = input_layouts();
  const auto& outputs = output_layouts();
  oracle::Random random(5);
  const auto pick = [&](const std::vector<Layout>& from) {
    return &from[static_cast<std::size_t>(random.whole(0, static_cast<i64>(from.size()) - 1))];
  };
  const auto add = [&](const Setup& t) {
    cases.push_back({fmt::format("operator.{}-{} {}x{}x{} a {}, b {}, c {}, {}", oracle::format(t.in).name,
                                 oracle::format(t.out).name, t.shape.m, t.shape.n, t.shape.k, t.la->name, t.lb->name,
                                 t.lc->name, t.plan.empty() ? "own plan" : t.plan),
                     [=](Worker& worker) { return multiply(worker, t); }});
  };
  const std::vector<Shape> some = {{1, 1, 1}, {130, 70, 65}, {5, 300, 257}, {300, 260, 200}, {1, 512, 1000}};
  for (const Shape& s : some) {
    for (const Type in : oracle::all_types) {
      for (const Type out : oracle::all_types) {
        if (reduced && (in != Type::f16 || out != Type::f16)) continue;
        add({s, in, out, pick(inputs), pick(inputs), pick(outputs), Edge::end, ""});
      }
    }
    for (const plan::GpuTile& tile : plan::gpu_tiles) {
      const std::string plan = fmt::format("{}x{}x{}", tile.tile.m, tile.tile.n, tile.tile.k);
      add({s, Type::f16, Type::f16, &inputs[0], &inputs[5], &outputs[1], Edge::begin, plan});
      if (!reduced) add({s, Type::f16, Type::f32, &inputs[1], &inputs[8], &outputs[0], Edge::end, plan});
    }
  }
  // By tma, in every transposition: few steps and many, more programs than blocks of threads, with one team and two.
  const std::vector<Shape> boxed = {
      {64, 128, 64}, {264, 1000, 72}, {1504, 2304, 8}, {1504, 2304, 200}, {136, 264, 2048}};
  for (const Shape& s : boxed) {
    if (reduced && s.m > 300) continue;
    for (const plan::GpuTile& tile : plan::gpu_tiles) {
      for (const int teams : {1, 2}) {
        if (tile.tma.warps == 0 || tile.tma.warps * teams > 8) continue;
        const std::string plan = fmt::format("{}x{}x{} t{} a=tma b=tma", tile.tile.m, tile.tile.n, tile.tile.k, teams);
        for (const std::size_t transposition : {0, 1, 2, 3}) {
          const Layout *const la = &inputs[transposition % 2 * 5], *const lb = &inputs[transposition / 2 * 5];
          const Type in = reduced || transposition % 3 == 0 ? Type::f16 : Type::bf16;
          const Type out = transposition == 1 ? Type::f32 : in;
          const Layout* const lc = &outputs[static_cast<std::size_t>(random.whole(0, 6))];  // none that has gaps
          add({s, in, out, la, lb, lc, transposition < 2 ? Edge::end : Edge::begin, plan});
        }
      }
    }
  }
  // Rows that start anywhere beside boxes: those of A, or columns of B, by classes, or the left operand's as they lie in
  // memory. Extents of an operand that is to come in boxes of its own are multiples of 8.
  enum : std::size_t {
    packed,
    by_1,
    by_2,
    by_4,
    transposed = 5,
    transposed_by_1,
    off_by_one = 8,
    second = 15,
    second_transposed
  };
  struct Odd {
    std::string movers;
    std::vector<Shape> shapes;
    std::vector<std::size_t> a, b;
  };
  const std::vector<Shape> any = {{131, 257, 77}, {9, 300, 1001}, {1505, 600, 130}, {131, 1, 65}, {520, 70, 1500}},
                           tt = {{131, 257, 77}, {9, 300, 1001}, {1505, 600, 130}, {1, 131, 65}, {520, 70, 1500}};
  const std::vector<Odd> odd = {
      {"a=tma b=tma",
       {{131, 264, 77}, {5, 64, 8}, {1505, 2304, 200}, {131, 264, 1025}, {1505, 72, 1100}},
       {by_1, by_2, by_4, off_by_one},
       {packed}},
      {"a=realign b=tma",
       {{131, 264, 72}, {5, 64, 1000}, {1505, 2304, 200}},
       {by_1, by_2, by_4, off_by_one, transposed, transposed_by_1},
       {packed, transposed}},
      {"a=tma b=realign", {{131, 257, 72}, {520, 70, 1000}}, {packed}, {packed, by_1, by_2, transposed_by_1}},
      {"a=tma b=realign",
       {{136, 257, 77}, {1504, 600, 130}},
       {transposed},
       {packed, by_1, off_by_one, transposed_by_1}},
      {"a=tma b=realign", {{1, 300, 1}, {1, 1, 1}}, {off_by_one}, {off_by_one}},  // both axes of A are adjacent
      {"a=tma b=tma", {{136, 131, 77}, {1504, 600, 130}, {264, 131, 1025}}, {transposed}, {transposed_by_1}},
      {"a=realign b=tma", tt, {transposed, transposed_by_1, by_1, off_by_one}, {transposed_by_1}},
      {"a=realign b=tma",
       {{131, 257, 77}, {9, 300, 1001}, {1505, 600, 130}, {300, 251, 8}, {520, 70, 1500}},
       {transposed_by_1},
       {by_1, by_2, by_4, off_by_one}},
      {"a=tma b=realign", any, {by_1, by_2, by_4, off_by_one}, {packed, by_1, transposed, transposed_by_1, off_by_one}},
      {"a=realign b=tma",
       {{131, 264, 72}, {5, 64, 1000}, {1505, 600, 136}, {520, 72, 1504}},
       {second, second_transposed},
       {packed, transposed}},
      {"a=realign b=tma", {{131, 264, 77}}, {second, second_transposed}, {packed}},  // columns of B would be unaligned
      {"a=tma b=realign",
       {{136, 257, 72}, {1504, 131, 136}, {264, 9, 1000}},
       {packed, transposed},
       {second, second_transposed}}};
  std::size_t turn = 0;  // reduced: each tile has one pair of layouts, and the next tile the next
  const auto taken = [&](const std::vector<std::size_t>& all, std::size_t number) {
    return reduced ? std::vector<std::size_t>{all[number % all.size()]} : all;
  };
  for (const Odd& o : odd) {
    for (const Shape& s : o.shapes) {
      if (reduced && s.m > 300) continue;
      for (const plan::GpuTile& tile : plan::gpu_tiles) {
        const plan::Team& team = o.movers == "a=tma b=tma" ? tile.tma : tile.raw;
        const i64 left_rows = o.movers == "a=tma b=realign" ? tile.tile.n : tile.tile.m;
        if (team.warps == 0 || (o.movers != "a=tma b=tma" && left_rows > 128)) continue;
        ++turn;
        for (const std::size_t a : taken(o.a, turn)) {
          for (const std::size_t b : taken(o.b, turn / o.a.size())) {
            const Type in = reduced || (a + b) % 3 != 0 ? Type::f16 : Type::bf16;
            const Type out = (a + b) % 4 == 0 ? Type::f32 : in;
            const Layout* const lc = &outputs[static_cast<std::size_t>(random.whole(0, 6))];
            add({s, in, out, &inputs[a], &inputs[b], lc, (a + b) % 2 == 0 ? Edge::end : Edge::begin,
                 fmt::format("{}x{}x{} {}", tile.tile.m, tile.tile.n, tile.tile.k, o.movers)});
          }
        }
      }
    }
  }
  // Pairs of blocks: an even number of tiles of the left operand, in each class; of several steps and programs a block.
  struct Paired {
    std::string movers;
    std::size_t a, b;
    bool left_is_b;
    i64 classes, short_by, other;  // rows of the left operand are so many less than whole tiles
  };
  const std::vector<Paired> paired = {{"a=tma b=tma", packed, packed, false, 1, 3, 264},
                                      {"a=tma b=tma", packed, transposed, false, 1, 3, 2320},
                                      {"a=tma b=tma", transposed, packed, false, 1, 8, 264},
                                      {"a=tma b=tma", transposed, transposed, false, 1, 8, 264},
                                      {"a=tma b=tma", by_1, packed, false, 8, 5, 264},
                                      {"a=tma b=tma", transposed, transposed_by_1, false, 1, 8, 131},
                                      {"a=realign b=tma", by_1, packed, false, 1, 3, 264},
                                      {"a=realign b=tma", transposed_by_1, by_1, false, 1, 3, 257},
                                      {"a=tma b=realign", by_1, by_1, true, 1, 3, 523},
                                      {"a=tma b=realign", transposed, transposed_by_1, true, 1, 3, 264}};
  for (const Paired& p : paired) {
    for (const plan::GpuTile& tile : plan::gpu_tiles) {
      const i64 left = p.left_is_b ? tile.tile.n : tile.tile.m;
      if ((p.movers == "a=tma b=tma" ? tile.tma : tile.raw).warps == 0) continue;
      if (p.movers != "a=tma b=tma" && left > 128) continue;
      if (reduced && tile.tile.m * tile.tile.n > 64 * 128) continue;
      const i64 rows = p.classes * 2 * left - p.short_by;
      for (const i64 k : {72, 1000}) {
        if (reduced && k > 72) continue;
        add({p.left_is_b ? Shape{p.other, rows, k} : Shape{rows, p.other, k}, Type::f16, Type::f16, &inputs[p.a],
             &inputs[p.b], &outputs[static_cast<std::size_t>(random.whole(0, 6))],
             p.a % 2 == 0 ? Edge::end : Edge::begin,
             fmt::format("{}x{}x{} c2 {}", tile.tile.m, tile.tile.n, tile.tile.k, p.movers)});
      }
    }
  }
  // Steps shared by the blocks of a cluster: as many parts as steps, parts without any, classes whose sums begin early.
  struct Shared {
    std::string movers;
    std::size_t a, b;
  };
  const std::vector<Shared> shared = {{"a=tma b=tma", packed, packed},
                                      {"a=tma b=tma", transposed, transposed},
                                      {"a=tma b=tma", by_1, packed},
                                      {"a=realign b=tma", by_1, transposed},
                                      {"a=realign b=tma", transposed_by_1, packed},
                                      {"a=tma b=realign", by_1, by_1}};
  for (const Shared& way : shared) {
    for (const plan::GpuTile& tile : plan::gpu_tiles) {
      const i64 left = way.movers == "a=tma b=realign" ? tile.tile.n : tile.tile.m;
      if ((way.movers == "a=tma b=tma" ? tile.tma : tile.raw).warps == 0) continue;
      if (way.movers != "a=tma b=tma" && left > 128) continue;
      const int warps = (way.movers == "a=tma b=tma" ? tile.tma : tile.raw).warps;
      if (tile.tile.m * tile.tile.n > plan::most_shared_sums * 32 * warps) continue;
      for (const i64 parts : {2, 4, 8, 16}) {
        for (const i64 k : {64 * parts - 24, 1096 + 8 * parts, 4096 + 72 * parts}) {
          if (reduced && k > 1096) continue;
          add({{136, 264, k},
               Type::f16,
               parts == 4 ? Type::f32 : Type::f16,
               &inputs[way.a],
               &inputs[way.b],
               &outputs[static_cast<std::size_t>(random.whole(0, 6))],
               way.a % 2 == 0 ? Edge::end : Edge::begin,
               fmt::format("{}x{}x{} split=cluster({}) {}", tile.tile.m, tile.tile.n, tile.tile.k, parts, way.movers)});
        }
      }
    }
  }
  // Copies of operands: rows along either axis, that start anywhere, run backward or are one.
  constexpr std::size_t flipped_rows = 9, broadcast_rows = 12;
  for (const std::size_t layout :
       {std::size_t{by_1}, std::size_t{transposed_by_1}, std::size_t{off_by_one}, flipped_rows, broadcast_rows}) {
    for (const Shape& s :
         {Shape{131, 257, 77}, Shape{1, 300, 65}, Shape{300, 1, 1000}, Shape{5, 7, 2100}, Shape{5, 7, 0}}) {
      for (const char* const packing : {"pack(a)", "pack(b)", "pack(a,b)"}) {
        for (const Type in : {Type::f16, Type::bf16, Type::f32}) {
          if (reduced && (in != Type::f16 || s.m != 131)) continue;
          add({s, in, in, &inputs[layout], &inputs[layout], pick(outputs), Edge::end, packing});
        }
      }
    }
  }
  // Rests, which may begin anywhere.
  for (const std::size_t layout :
       {std::size_t{packed}, std::size_t{by_1}, std::size_t{transposed_by_1}, std::size_t{off_by_one}}) {
    for (const char* const rest : {"rest=rows(1)", "rest=rows(72)", "rest=cols(1)", "rest=cols(101)"}) {
      for (const Shape& s : {Shape{136, 264, 77}, Shape{131, 257, 1000}}) {
        for (const std::size_t of_c : {std::size_t{0}, std::size_t{1}}) {
          add({s, Type::f16, Type::f16, &inputs[layout], &inputs[layout], &outputs[of_c], Edge::end, rest});
          add({s, Type::bf16, Type::f32, &inputs[packed], &inputs[layout], &outputs[of_c], Edge::begin,
               std::string("64x128x64 ") + rest});
        }
      }
    }
  }
  cases.push_back({"operator.two_places", two_places});
  cases.push_back({"operator.empty", empty});
}

}  // namespace device_check
