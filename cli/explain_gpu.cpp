#include "cli/explain_gpu.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include <tilewright/gemm.hpp>
#include "cli/planned_gpu.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "cuda/device.hpp"
#include "cuda/loaded.hpp"
#include "cuda/pack.hpp"
#include "gemm/cuda_kernel.hpp"
#include "gemm/rest.hpp"
#include "gemm/turned.hpp"
#include "plan/facts.hpp"
#include "plan/gpu_clusters.hpp"
#include "plan/gpu_planner.hpp"
#include "plan/gpu_rest.hpp"
#include "plan/number.hpp"

namespace tilewright::cli {
namespace {

struct Facts {
  PlannedGpu device;
  Problem problem;
  Problem own;  // what the plan multiplies: copies, and what is before the rest
  PlanChoice choice;
  std::string a_mover, b_mover;
  i64 tile_rows = 0, tile_cols = 0;
  i64 row_classes = 1;                // a program takes every so many-th row of A and C,
  i64 col_classes = 1;                // or column of B and C
  bool phases = false;                // B's rows come by classes, all of them to every program
  int shared_bytes = 0;               // of a program
  std::optional<cuda::Cubin> packed;  // the kernel, if the pack has it
  std::unique_ptr<Facts> rest;        // of C, where the plan leaves one

  i64 programs() const { return tile_rows * tile_cols; }
  i64 waves() const { return cdiv(programs(), plan::programs_at_once(choice.plan, device.description())); }
  /// The part of the outputs that the grid's tiles compute and C has.
  double useful() const {
    const double computed =
        static_cast<double>(tile_rows * choice.plan.tile.m) * static_cast<double>(tile_cols * choice.plan.tile.n);
    return computed > 0 ? static_cast<double>(own.m) * static_cast<double>(own.n) / computed : 1;
  }
};

/// "second", "fourth", "eighth" …: numbers of classes are powers of two.
std::string ordinal(i64 number) {
  return number == 2    ? "second"
         : number == 4  ? "fourth"
         : number == 8  ? "eighth"
         : number == 32 ? "32nd"
                        : fmt::format("{}th", number);
}

/// along: the operand's axis of which neighbours are adjacent. beside_boxes: the other operand comes by tma.
std::string text_of(const cuda::Move& move, int along, i64 classes, bool phases, bool beside_boxes) {
  const char* const axis = along == 0 ? "rows" : "columns";
  if (move.via == cuda::Via::async_copy)
    return fmt::format("async_copy, {} bytes at a time along {}", move.bytes, axis);
  if (move.via == cuda::Via::tma) return fmt::format("tma, boxes along {}, by a thread of its own", axis);
  if (move.via == cuda::Via::classes) {
    if (phases) {
      return fmt::format("tma, boxes along {}, in phases of rows that begin alike, by a thread of its own", axis);
    }
    return fmt::format("tma, boxes along {} of every {} {}, which begin alike, by a thread of its own", axis,
                       ordinal(classes), along == 0 ? "column" : "row");
  }
  if (move.via == cuda::Via::realign && beside_boxes) {
    return fmt::format("as it lies in memory, 16 bytes at a time along {}; wgmma takes {} from registers", axis,
                       move.step == 2 ? "every second element" : "it");
  }
  if (move.via == cuda::Via::realign) return fmt::format("realign, 16 bytes at a time along {}, shifted on chip", axis);
  return fmt::format("gather, element by element along {}", axis);
}

Facts facts_of(const MatrixView& given_a, const MatrixView& given_b, const MatrixView& given_c,
               const PlanRequest& request, i64 workspace_bytes) {
  plan::check_offsets('a', given_a);
  plan::check_offsets('b', given_b);
  plan::check_offsets('c', given_c);
  const auto [a, b, c] = gemm_detail::turned(given_a, given_b,
                                             {const_cast<void*>(given_c.data), given_c.type, given_c.rows, given_c.cols,
                                              given_c.row_stride, given_c.col_stride});
  Facts facts;
  facts.device = planned_gpu();
  facts.problem = problem_of(a, b, c);
  facts.choice = plan::choose_gpu_plan(facts.problem, request, facts.device.description(), workspace_bytes);
  const Plan& plan = facts.choice.plan;
  facts.own = plan::own_problem(facts.problem, plan);
  facts.tile_rows = plan::tile_rows(facts.own, plan);
  facts.tile_cols = plan::tile_cols(facts.own, plan);
  facts.phases = plan::b_in_phases(facts.own, plan);
  (plan::b_in_classes(facts.own, plan) ? facts.col_classes : facts.row_classes) =
      plan::classes_of(facts.own, plan).count();
  const auto [own, rest] = gemm_detail::divided(plan.rest, {a, b, c});
  if (plan.rest.any()) {
    facts.rest = std::make_unique<Facts>(facts_of(rest.a, rest.b, rest.c, plan::request_of_rest(), 0));
  }
  const gemm_detail::Operands operands =
      gemm_detail::packed_operands(facts.problem, plan.packing, {own.a, own.b}, nullptr);
  const gemm_detail::CudaKernel kernel = gemm_detail::cuda_kernel(plan, operands.a, operands.b, c.type);
  // Of the transposed product, the left operand is B transposed.
  const bool swapped = transposes(plan), boxed = plan.a == Mover::tma || plan.b == Mover::tma;
  const auto text = [&](const cuda::Move& move) {
    return text_of(move, swapped ? 1 - move.axis : move.axis, std::max(facts.row_classes, facts.col_classes),
                   facts.phases, boxed);
  };
  const auto copied = [](bool packs) { return packs ? "packed, then " : ""; };
  facts.a_mover = copied(plan.packing.a) + text(kernel.how.moves[swapped ? 1 : 0]);
  facts.b_mover = copied(plan.packing.b) + text(kernel.how.moves[swapped ? 0 : 1]);
  const cuda::Config config = cuda::config_of(kernel.how, kernel.needs, facts.device.architecture());
  facts.shared_bytes = config.shared_bytes();
  if (const cuda::Pack* const pack = cuda::kernel_pack()) {
    const std::string unit = cuda::unit_of(kernel.text, config, kernel.kernel_bytes, kernel.args_bytes);
    for (const std::string& architecture : facts.device.architectures()) {
      if (!facts.packed) facts.packed = pack->find(unit, architecture);
    }
  }
  return facts;
}

std::string kernel_text(const Facts& facts) {
  if (!facts.packed) return "not in the kernel pack: compiled when it is first used, then kept";
  if (facts.packed->registers == 0) return "in the kernel pack, as PTX: the driver compiles it";
  return fmt::format("in the kernel pack: {} registers a thread", facts.packed->registers);
}

std::string text_of(const Facts& facts) {
  const Plan& plan = facts.choice.plan;
  std::string text =
      plan::wrapped(fmt::format("C[{}x{}] = A[{}x{}] * B[{}x{}], {} to {},", facts.problem.m, facts.problem.n,
                                facts.problem.m, facts.problem.k, facts.problem.k, facts.problem.n,
                                name_of(facts.problem.input), name_of(facts.problem.output)),
                    2);
  const std::string where = "on " + facts.device.name;
  text += (text.size() + 1 + where.size() <= 80 ? " " : "\n  ") + where + "\n\n";
  const auto line = [&](std::string_view name, const std::string& value) {
    bool first = true;
    for (const std::string& part : wrap(value, 66)) {
      text += fmt::format("  {:<11} {}\n", first ? name : "", part);
      first = false;
    }
  };
  line("plan", to_string(plan));
  line("why", facts.choice.reason);
  line("A", fmt::format("{}: {}", to_string(facts.problem.a), facts.a_mover));
  line("B", fmt::format("{}: {}", to_string(facts.problem.b), facts.b_mover));
  line("program",
       fmt::format("{}x{} outputs{} by {} warps; {} blocks of K of {} on their way at once{}", plan.tile.m, plan.tile.n,
                   facts.row_classes > 1   ? fmt::format(" of every {} row", ordinal(facts.row_classes))
                   : facts.col_classes > 1 ? fmt::format(" of every {} column", ordinal(facts.col_classes))
                                           : "",
                   plan.warps, plan.stages, plan.tile.k, transposes(plan) ? "; C is computed transposed" : ""));
  const i64 sharers = plan::blocks_of_program(plan);
  if (sharers > 1) {
    line("split", fmt::format("{} blocks of threads share a program: each sums consecutive ones of its {} blocks of K, "
                              "and the parts are added in order, in shared memory",
                              sharers, cdiv(facts.problem.k, plan.tile.k)));
  }
  if (plan.packing.any()) {
    line("workspace", fmt::format("{} bytes, for copies whose rows start at multiples of 128 bytes",
                                  grouped(facts.choice.workspace_bytes)));
  }
  line("shared", fmt::format("{} of {} bytes", grouped(facts.shared_bytes), grouped(facts.device.shared_bytes)));
  line("kernel", kernel_text(facts));
  line("grid",
       fmt::format("{} x {} = {} programs{}, {} wave{} over {} multiprocessors, {:.1f} % of what they compute is in C",
                   grouped(facts.tile_rows), grouped(facts.tile_cols), grouped(facts.programs()),
                   sharers > 1 ? fmt::format(" of {} blocks", sharers) : "", grouped(facts.waves()),
                   facts.waves() == 1 ? "" : "s", facts.device.multiprocessors, 100 * facts.useful()));
  if (facts.rest) {
    const Facts& rest = *facts.rest;
    const bool rows = plan.rest.kind == RestKind::rows;
    line("rest",
         fmt::format("{} of C, a product of {} own behind this one: {} programs under {}",
                     plan.rest.count == 1
                         ? fmt::format("the last {}", rows ? "row" : "column")
                         : fmt::format("the last {} {}", grouped(plan.rest.count), rows ? "rows" : "columns"),
                     plan.rest.count == 1 ? "its" : "their", grouped(rest.programs()), to_string(rest.choice.plan)));
  }
  text += "\nCandidates, modelled (they rank plans; nothing here is measured)\n";
  const auto name_of_plan = [](const Plan& p) {
    return fmt::format("{}x{}x{} w{} s{}{}{}{}{}{}{}", p.tile.m, p.tile.n, p.tile.k, p.warps, p.stages,
                       p.teams > 1 ? fmt::format(" t{}", p.teams) : "",
                       p.cluster > 1 ? fmt::format(" c{}", p.cluster) : "",
                       plan::blocks_of_program(p) > 1 ? " " + to_string(p.split) : "", p.packing.any() ? " " : "",
                       to_string(p.packing), p.rest.any() ? " rest=" + to_string(p.rest) : "");
  };
  std::size_t width = 22;
  for (const Candidate& candidate : facts.choice.candidates)
    width = std::max(width, name_of_plan(candidate.plan).size());
  for (const Candidate& candidate : facts.choice.candidates) {
    const std::string name = name_of_plan(candidate.plan);
    text += candidate.rejected.empty()
                ? fmt::format("  {:<{}} {:>10.1f} us\n", name, width, candidate.microseconds)
                : fmt::format("  {:<{}} {}\n", name, width, plan::wrapped(candidate.rejected, width + 3));
  }
  return text;
}

Json json_of(const Facts& facts) {
  Json candidates = Json::array(), rest;
  if (facts.rest) {
    rest = json_of(*facts.rest);
    rest.erase("candidates");
  }
  for (const Candidate& candidate : facts.choice.candidates) {
    candidates.push_back({{"plan", to_string(candidate.plan)},
                          {"rejected", candidate.rejected.empty() ? Json() : Json(candidate.rejected)},
                          {"modelled_microseconds", candidate.microseconds}});
  }
  return {{"target", "cuda"},
          {"device", facts.device.name},
          {"m", facts.problem.m},
          {"n", facts.problem.n},
          {"k", facts.problem.k},
          {"plan", to_string(facts.choice.plan)},
          {"plan_reason", facts.choice.reason},
          {"a", {{"layout", to_string(facts.problem.a)}, {"mover", facts.a_mover}}},
          {"b", {{"layout", to_string(facts.problem.b)}, {"mover", facts.b_mover}}},
          {"workspace_bytes", facts.choice.workspace_bytes},
          {"shared_bytes", facts.shared_bytes},
          {"packed", facts.packed.has_value()},
          {"registers", facts.packed && facts.packed->registers > 0 ? Json(facts.packed->registers) : Json()},
          {"row_classes", facts.row_classes},
          {"col_classes", facts.col_classes},
          {"transposed", transposes(facts.choice.plan)},
          {"programs", facts.programs()},
          {"parts", plan::blocks_of_program(facts.choice.plan)},
          {"waves", facts.waves()},
          {"useful", facts.useful()},
          {"rest", rest},
          {"candidates", candidates}};
}

}  // namespace

void explain_gpu(const MatrixView& a, const MatrixView& b, const MatrixView& c, const PlanRequest& request,
                 i64 workspace_bytes, bool json) {
  // Somewhere, at the beginning of a line: where parts of the operands begin follows from it.
  const auto placed = [](MatrixView view) {
    view.data = reinterpret_cast<const void*>(std::uintptr_t{1} << 40);
    return view;
  };
  const Facts facts = facts_of(placed(a), placed(b), placed(c), request, workspace_bytes);
  print(json ? json_line(json_of(facts)) : text_of(facts));
}

}  // namespace tilewright::cli
