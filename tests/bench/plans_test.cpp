// Plans side by side, with times of the tests' own: what is the best, how far the default is behind, what is said.
#include <cmath>
#include <memory>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/plans.hpp"
#include "tests/bench/fake_peer.hpp"

namespace tilewright::bench {
namespace {

using plan::Breadth;

Case one_case(const std::string& line = "x,g,20,30,40,nn,f16\n") {
  return parse_suite("name,group,m,n,k,layout,types\n" + line, "x.csv").at(0);
}

/// Four plans of the CPU, as a planner would list them; the second is the default one.
PlanTable table() {
  PlanTable table{one_case(), 1, 0, {}};
  double us = 10;
  for (const char* text : {"16x16x16", "32x32x32", "64x32x32", "64x64x64"}) {
    const PlanChoice choice = choose_plan(problem_of(table.which), parse_plan(text), this_cpu(), 1, 0);
    table.list.plans.push_back({choice.plan, us += 1, us > 12});
  }
  table.list.chosen = table.list.plans[1].plan;
  table.list.reason = "it is the one.";
  return table;
}

/// Plan i takes times[i] microseconds; the product of plan `wrong` is spoilt.
HarnessOptions clocks(std::vector<double> times, std::size_t wrong = 99) {
  struct State {
    std::size_t next = 0;
    Operands* operands = nullptr;
  };
  const auto state = std::make_shared<State>();
  HarnessOptions options = invented_options();
  options.operands = [state](const Case& which) {
    auto operands = std::make_unique<Operands>(which);
    state->operands = operands.get();
    return operands;
  };
  options.timed = [state, times, wrong](std::function<void()> run) -> std::function<double(i64)> {
    const std::size_t i = state->next++;
    return [state, us = times.at(i), spoilt = i == wrong, run = std::move(run)](i64 calls) {
      run();
      if (spoilt) static_cast<f16*>(state->operands->on_host(1).c.data)[7] = to_f16(1000);
      return us * static_cast<double>(calls);
    };
  };
  return options;
}

std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(part) != std::string::npos) return line;
  }
  return "no line has " + part + " in\n" + text;
}

TEST(MeasuredPlans, TheBestIsFoundAndTheDefaultComparedWithIt) {
  PlanTable t = table();
  measure_plans(t, clocks({50, 25, 20, 40}), 0);
  ASSERT_EQ(t.measured.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(t.measured[i].entry.failed, "");
    EXPECT_EQ(t.measured[i].entry.way, to_string(t.list.plans[i].plan));
    EXPECT_GE(t.measured[i].entry.us.count, 6);
  }
  EXPECT_EQ(t.best(), 2u);
  EXPECT_DOUBLE_EQ(t.behind().value(), 1.25);
  EXPECT_TRUE(t.right());

  PlansRun run;
  run.measured = true;
  const std::string text = plans_text(run, t, Breadth::by_default);
  EXPECT_NE(text.find("\ndefault 1.25x the best measured plan\n"), std::string::npos) << text;
  EXPECT_TRUE(line_with(text, "  64x32x32").starts_with("best ")) << text;
  EXPECT_NE(line_with(text, "1.25  32x32x32").find("default"), std::string::npos) << text;
  EXPECT_NE(line_with(text, "25.0").find("12.0"), std::string::npos) << "what was predicted\n" << text;
  EXPECT_NE(line_with(text, "2.50  16x16x16").find('+'), std::string::npos) << "not taken by default\n" << text;
  EXPECT_LT(text.find("  64x32x32"), text.find("  32x32x32")) << "the best comes first\n" << text;
  EXPECT_LT(text.find("  64x64x64"), text.find("  16x16x16")) << text;
}

TEST(MeasuredPlans, RoundsLastAsLongAsAllPlansTogether) {
  PlanTable t = table();
  HarnessOptions options = clocks({50, 25, 20, 40});
  double last = -1;
  options.progress = [&](double fraction) { last = fraction; };
  measure_plans(t, options, 0.01);
  EXPECT_DOUBLE_EQ(last, 1);
  EXPECT_GT(t.measured[0].entry.us.count, 6) << "40 ms hold more than the least rounds of plans that take no time";
}

TEST(MeasuredPlans, AWrongOneIsShownAndNeverTheBest) {
  PlanTable t = table();
  measure_plans(t, clocks({50, 25, 1, 40}, 2), 0);
  EXPECT_TRUE(t.measured[2].wrong());
  EXPECT_EQ(t.best(), 1u);
  EXPECT_DOUBLE_EQ(t.behind().value(), 1);
  EXPECT_FALSE(t.right());
  PlansRun run;
  run.measured = true;
  const std::string text = plans_text(run, t, Breadth::by_default);
  EXPECT_NE(line_with(text, "  64x32x32").find("failed, see below"), std::string::npos) << text;
  EXPECT_NE(text.find("wrong: C[0,7] is 1000"), std::string::npos) << text;
  EXPECT_TRUE(line_with(text, "  32x32x32").starts_with("both ")) << text;

  PlanTable default_wrong = table();
  measure_plans(default_wrong, clocks({50, 25, 20, 40}, 1), 0);
  EXPECT_FALSE(default_wrong.behind().has_value());
  EXPECT_FALSE(default_wrong.right());
  EXPECT_EQ(plans_text(run, default_wrong, Breadth::by_default).find("the best measured plan"), std::string::npos);
}

TEST(MeasuredPlans, OneThatCannotBeCompiledIsNoFault) {
  PlanTable t = table();
  measure_plans(t, clocks({50, 25, 20, 40}), 0);
  t.measured[2].compiled = false;
  t.measured[2].entry.failed = "no compiler\nis here";
  EXPECT_EQ(t.best(), 1u);
  EXPECT_TRUE(t.right());
  PlansRun run;
  run.measured = true;
  const std::string text = plans_text(run, t, Breadth::by_default);
  EXPECT_NE(line_with(text, "  64x32x32").find("not compiled here"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  not compiled here: no compiler\n"), std::string::npos) << text;
  t.list.chosen = t.list.plans[2].plan;
  EXPECT_FALSE(t.right()) << "the default plan has no time";
}

TEST(MeasuredPlans, MeansAreGeometricOverCasesWithBothTimes) {
  std::vector<PlanTable> tables = {table(), table(), table()};
  measure_plans(tables[0], clocks({50, 20, 20, 40}), 0);
  measure_plans(tables[1], clocks({50, 32, 20, 40}), 0);
  measure_plans(tables[2], clocks({50, 90, 20, 40}, 1), 0);
  tables[1].which.name = "slow";
  const BehindMean mean = behind_mean(tables);
  EXPECT_EQ(mean.cases, 2);
  EXPECT_DOUBLE_EQ(mean.geometric_mean, std::sqrt(1.6));
  EXPECT_DOUBLE_EQ(mean.worst, 1.6);
  EXPECT_EQ(mean.worst_case, "slow f16");
  PlansRun run;
  run.measured = true;
  const std::string text = plans_suite_text(run, tables);
  EXPECT_NE(text.find("default 1.26x the best measured plan: geometric mean of 2 cases\nworst 1.60x: slow f16\n"),
            std::string::npos)
      << text;
  EXPECT_NE(line_with(text, "slow").find("1.60  64x32x32"), std::string::npos) << text;
  EXPECT_EQ(line_with(text, "x        20x30x40").find("64x32x32"), std::string::npos) << "both are the same\n" << text;
  EXPECT_NE(text.find("the default plan has no time"), std::string::npos) << text;
  EXPECT_NE(text.find("wrong: C[0,7] is 1000"), std::string::npos) << text;
}

TEST(MeasuredPlans, TheRecordHoldsPredictionsAndMeasurements) {
  PlanTable t = table();
  PlansRun run;
  run.run.date = "now";
  const auto predicted = nlohmann::json::parse(plans_json(run, std::vector{t}));
  EXPECT_EQ(predicted["measured"], false);
  EXPECT_FALSE(predicted.contains("default_over_best"));
  EXPECT_EQ(predicted["cases"][0]["plans"][1]["predicted_us"], 12);
  EXPECT_FALSE(predicted["cases"][0]["plans"][1].contains("us"));

  measure_plans(t, clocks({50, 25, 20, 40}, 3), 0);
  t.measured[0].compiled = false;
  t.measured[0].entry.failed = "no compiler";
  run.measured = true;
  const auto record = nlohmann::json::parse(plans_json(run, std::vector{t}));
  EXPECT_EQ(record["default_over_best"]["geometric_mean"], 1.25);
  const auto& one = record["cases"][0];
  EXPECT_EQ(one["default"], to_string(t.list.chosen));
  EXPECT_EQ(one["best"], to_string(t.list.plans[2].plan));
  EXPECT_EQ(one["default_over_best"], 1.25);
  EXPECT_EQ(one["plans"][0]["not_compiled"], "no compiler");
  EXPECT_EQ(one["plans"][0]["by_default"], false);
  EXPECT_EQ(one["plans"][1]["us"], 25);
  EXPECT_EQ(one["plans"][1]["default"], true);
  EXPECT_EQ(one["plans"][2]["default"], false);
  EXPECT_NE(one["plans"][3]["failed"].get<std::string>().find("wrong"), std::string::npos);
}

TEST(MeasuredPlans, RejectedOnesAreShownWhereAllAreAskedFor) {
  PlanTable t = table();
  t.list.rejected.push_back({t.list.plans[0].plan, "it is too small", 0});
  const PlansRun run;
  EXPECT_EQ(plans_text(run, t, Breadth::by_default).find("it is too small"), std::string::npos);
  EXPECT_NE(plans_text(run, t, Breadth::all).find("it is too small"), std::string::npos);
}

TEST(Cases, AnOutputMayHaveATypeOfItsOwn) {
  Case which = one_case();
  const double same = which.bytes();
  which.own_output = DType::f32;
  EXPECT_DOUBLE_EQ(which.bytes(), same + 2.0 * 20 * 30);
  EXPECT_EQ(problem_of(which).output, DType::f32);
  Operands operands(which);
  EXPECT_EQ(operands.untouched(), 20 * 30);
  const Job job = operands.job(1);
  EXPECT_EQ(job.c.type, DType::f32);
  gemm_into(job.a, job.b, job.c);
  EXPECT_EQ(operands.untouched(), 0);
  double worst = 0;
  EXPECT_EQ(fault_of(job, operands, 1 << 20, worst), "");
}

TEST(Cases, TheirProblemIsThatOfTheirOperands) {
  for (const char* line : {"x,g,7,8,9,nn,f16,,,,,\n", "x,g,7,8,9,tn,bf16,16,,,1,\n", "x,g,7,8,9,nt,f32,,,11,2,\n",
                           "x,g,7,8,9,nn,f16,,,,3,2\n"}) {
    const Case which =
        parse_suite("name,group,m,n,k,layout,types,lda,ldb,ldc,offset,step\n" + std::string(line), "x.csv").at(0);
    const Operands operands(which);
    const Job job = operands.job(1);
    EXPECT_EQ(problem_of(which), tilewright::problem_of(job.a, job.b, job.c)) << line;
  }
}

}  // namespace
}  // namespace tilewright::bench
