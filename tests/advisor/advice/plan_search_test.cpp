#include "advisor/advice/plan_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "advisor/advice/plan_name.h"
#include "tests/advisor/model/described_model.h"

namespace headwise {
namespace {

constexpr std::int64_t k32K = 32768, k128K = 131072;
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

class PlanSearch : public testing::Test {
 protected:
  const Hardware h200_ = read_hardware("h200");
  const DeviceTimes times_ = device_times(h200_);

  static PlanQuestion ask(const char* model, std::int64_t devices, std::int64_t context) {
    const bool is_r1 = std::string(model) == "deepseek-r1";
    const WeightFormat weights = is_r1 ? WeightFormat::fp8_block : WeightFormat::bf16;
    return {.model = described(model),
            .types = {.projections = weights, .feed_forward = weights},
            .memory = {},
            .devices = devices,
            .context = context,
            .longest_tpot_s = {}};
  }
  ParallelPlan evaluated(const char* model, const char* name, std::int64_t context) const {
    const PlanQuestion question = ask(model, 1, context);
    return evaluate_plan(question, parse_plan(name, question.types), times_);
  }
  static const ParallelPlan& named(const PlanTable& table, const std::string& name) {
    const auto found = std::ranges::find(table.plans, name, &ParallelPlan::name);
    if (found == table.plans.end()) throw std::runtime_error("no plan " + name);
    return *found;
  }
};

// A token's KV is 80 layers x 2 x 8 heads x 128 x 2 bytes = 327680: 40 GiB of 128k tokens, an
// eighth of it a GPU with TP8. 16 GPUs have the 8 heads twice. Weights: see
// LargestBatch.OfLlama70b.
TEST_F(PlanSearch, MemoryOfLlama70b) {
  const ParallelPlan tp8 = evaluated("llama-3.1-70b", "tp8", k128K);
  EXPECT_EQ(tp8.weights_bytes, 17638096896.0);
  EXPECT_EQ(tp8.kv_bytes, 5.0 * kGiB);
  EXPECT_EQ(tp8.kv_copies, 1.0);
  EXPECT_EQ(tp8.largest_batch.requests, 22);
  const ParallelPlan tp16 = evaluated("llama-3.1-70b", "tp16", k128K);
  EXPECT_EQ(tp16.kv_bytes, 40.0 * kGiB / std::min(16, 8));
  EXPECT_EQ(tp16.kv_copies, 2.0);
  const ParallelPlan helix = evaluated("llama-3.1-70b", "tp8kvp4", k128K);
  EXPECT_EQ(helix.kv_bytes, 40.0 * kGiB / (8 * 4));
  EXPECT_EQ(helix.kv_copies, 1.0);
  const ParallelPlan stages = evaluated("llama-3.1-70b", "pp8", k128K);
  EXPECT_EQ(stages.kv_bytes, 5.0 * kGiB);
}

// R1's latents are 61 layers x 576 x 2 bytes = 70272 a token. A GPU of ADP8/EP8 has, a layer, all
// 187,105,280 weights of attention; of the first three layers 396,361,728 of dense feed-forward; of
// the other 58 one shared expert of 3 x 7168 x 2048 and 32 of the 256 routed ones, and a router of
// 7168 x 256 in bf16; both tables of 129280 x 7168 in bf16. fp8_block: a byte and 4 / 128^2 of one.
TEST_F(PlanSearch, MemoryOfR1) {
  const ParallelPlan adp8 = evaluated("deepseek-r1", "adp8ep8", k128K);
  const double scaled = 1.0 + 4.0 / (128.0 * 128.0), expert = 3.0 * 7168 * 2048;
  const double attention = 61.0 * 187105280, dense = 3.0 * 396361728;
  const double experts = 58.0 * (1 + 32) * expert, router = 58.0 * 7168 * 256 * 2;
  EXPECT_NEAR(adp8.weights_bytes,
              scaled * (attention + dense + experts) + router + 2.0 * 129280 * 7168 * 2, 1.0);
  EXPECT_EQ(adp8.kv_bytes, 70272.0 * k128K / 8);
  EXPECT_EQ(adp8.kv_copies, 1.0);
  const double room = 0.9 * 141 * kGiB - adp8.weights_bytes;
  EXPECT_EQ(adp8.largest_batch.requests, 8 * static_cast<int>(room / (70272.0 * k128K)));
  const ParallelPlan tp8 = evaluated("deepseek-r1", "tp8ep8", k128K);
  EXPECT_EQ(tp8.kv_bytes, 70272.0 * k128K);  // whatever tp
  EXPECT_EQ(tp8.kv_copies, 8.0);
  const ParallelPlan helix = evaluated("deepseek-r1", "kvp8ep8", k128K);
  EXPECT_EQ(helix.kv_bytes, 70272.0 * k128K / 8);
}

// 61 layers over 8 stages are 8 on the fullest.
TEST_F(PlanSearch, TheFullestStageCounts) {
  const ParallelPlan stages = evaluated("deepseek-r1", "pp8", k128K);
  EXPECT_DOUBLE_EQ(stages.kv_bytes, 8.0 * 576 * 2 * k128K);
}

// [A] of the facts: 64 requests of 16k, MLA's core over TP8 beside ADP8, H200 294 and 77 us.
TEST_F(PlanSearch, RequestsOfTheirOwnMakeR1sCoreFaster) {
  for (const char* hardware : {"h200", "b200"}) {
    const DeviceTimes times = device_times(read_hardware(hardware));
    PlanQuestion question = ask("deepseek-r1", 8, 16384);
    question.batch = 64;
    const auto core = [&](const char* name) {
      return evaluate_plan(question, parse_plan(name, question.types), times)
          .next.at(StepPart::attention)
          .seconds;
    };
    const double gain = core("tp8ep8") / core("adp8ep8");
    EXPECT_GT(gain, 3.1) << hardware;
    EXPECT_LT(gain, 5.2) << hardware;
  }
}

TEST_F(PlanSearch, ThePlanOfOneDeviceIsThatDevice) {
  const PlanTable table = search_plans(ask("llama-3.1-8b", 1, k32K), times_);
  ASSERT_EQ(table.plans.size(), 1U);
  const ParallelPlan& plan = table.plans.front();
  const ModelDescription model = described("llama-3.1-8b");
  EXPECT_EQ(plan.first.total().seconds, first_token(model, {}, {0, k32K}, times_).total().seconds);
  EXPECT_EQ(plan.next.total().seconds, next_token(model, {}, 1, k32K, times_).total().seconds);
  EXPECT_EQ(plan.largest_batch.requests, 27);
  EXPECT_EQ(*plan.throughput, 27.0 / next_token(model, {}, 27, k32K, times_).total().seconds);
  EXPECT_EQ(*plan.efficiency, 1.0);
  EXPECT_EQ(table.reference_devices, 1);
  EXPECT_TRUE(plan.best_latency && plan.best_throughput);
  EXPECT_EQ(plan.loses_because, "");
}

TEST_F(PlanSearch, TheBestAreTheBestOfThoseThatFit) {
  for (const char* model : {"llama-3.1-70b", "deepseek-r1", "gpt-oss-120b", "qwen3-next-80b-a3b"})
    for (const std::int64_t batch : {1, 8}) {
      PlanQuestion question = ask(model, 8, k32K);
      question.batch = batch;
      const PlanTable table = search_plans(question, times_);
      const ParallelPlan *latency = nullptr, *most = nullptr;
      for (const ParallelPlan& plan : table.plans) {
        if (plan.best_latency) latency = &plan;
        if (plan.best_throughput) most = &plan;
      }
      ASSERT_TRUE(latency != nullptr && most != nullptr) << model;
      for (const ParallelPlan& plan : table.plans) {
        if (!plan.fits()) continue;
        if (plan.holds(batch)) {
          EXPECT_LE(latency->next.total().seconds, plan.next.total().seconds) << plan.name;
        }
        EXPECT_GE(*most->throughput, *plan.throughput) << plan.name;
        const bool is_best = &plan == latency || &plan == most;
        EXPECT_EQ(plan.loses_because.empty(), is_best) << plan.name;
      }
    }
}

TEST_F(PlanSearch, TheOrderOfCandidatesDoesNotMatter) {
  const PlanQuestion question = ask("deepseek-r1", 8, k32K);
  auto candidates = plan_candidates(question.model, question.types, 8);
  const PlanTable one = compare_plans(question, candidates, times_);
  std::ranges::reverse(candidates);
  const PlanTable other = compare_plans(question, candidates, times_);
  ASSERT_EQ(one.plans.size(), other.plans.size());
  for (std::size_t i = 0; i < one.plans.size(); ++i) {
    EXPECT_EQ(one.plans[i].name, other.plans[i].name);
    EXPECT_EQ(one.plans[i].best_latency, other.plans[i].best_latency);
    EXPECT_EQ(one.plans[i].best_throughput, other.plans[i].best_throughput);
    EXPECT_EQ(one.plans[i].loses_because, other.plans[i].loses_because);
  }
}

// Of each way of splitting alone.
TEST_F(PlanSearch, MoreDevicesNeverRaiseKvOfADevice) {
  for (const char* model : {"llama-3.1-70b", "deepseek-r1", "gemma-3-27b", "kimi-linear-48b"})
    for (const char* way : {"tp", "adp", "kvp", "pp"}) {
      double before = 1e30;
      for (const int devices : {1, 2, 4, 8, 16}) {
        const ParallelPlan plan = evaluated(model, (way + std::to_string(devices)).c_str(), k128K);
        if (!plan.is_possible()) continue;
        EXPECT_LE(plan.kv_bytes, before) << model << " " << plan.name;
        before = plan.kv_bytes;
      }
    }
}

// 70,552,387,584 weights in bf16 are 131.41 GiB, a request of 128k is 40, nine tenths of 141 GiB
// are 126.9: 44.51 are missing.
TEST_F(PlanSearch, WhatDoesNotFitSaysByHowMuch) {
  const ParallelPlan alone = evaluated("llama-3.1-70b", "adp8", k128K);
  EXPECT_FALSE(alone.fits());
  EXPECT_NEAR(alone.missing_bytes, 70552387584.0 * 2 + 40 * kGiB - 0.9 * 141 * kGiB, 1.0);
  EXPECT_FALSE(alone.throughput);
}

TEST_F(PlanSearch, EfficiencyIsBesideTheFewestDevicesThatHoldTheModel) {
  const PlanTable table = search_plans(ask("llama-3.1-70b", 8, k128K), times_);
  EXPECT_EQ(table.reference_devices, 2);
  const PlanTable two = search_plans(ask("llama-3.1-70b", 2, k128K), times_);
  double best = 0.0;
  for (const ParallelPlan& plan : two.plans) best = std::max(best, plan.throughput.value_or(0.0));
  const ParallelPlan& tp8 = named(table, "TP8");
  EXPECT_DOUBLE_EQ(*tp8.efficiency, *tp8.throughput / 8 / (best / 2));
}

TEST_F(PlanSearch, AFasterLinkIsNeverSlower) {
  for (const char* model : {"llama-3.1-70b", "deepseek-r1"}) {
    const PlanQuestion question = ask(model, 8, k32K);
    const DeviceTimes slow = device_times(h200_, {}, 25e9), fast = device_times(h200_, {}, 250e9);
    for (const PlanCandidate& candidate : plan_candidates(question.model, question.types, 8)) {
      const ParallelPlan before = evaluate_plan(question, candidate.deployment, slow);
      const ParallelPlan after = evaluate_plan(question, candidate.deployment, fast);
      EXPECT_LE(after.first.total().seconds, before.first.total().seconds) << before.name;
      EXPECT_LE(after.next.total().seconds, before.next.total().seconds) << before.name;
      EXPECT_GE(after.throughput.value_or(0.0), before.throughput.value_or(0.0)) << before.name;
    }
  }
}

TEST_F(PlanSearch, ThroughputHeedsALimitOfTpot) {
  PlanQuestion question = ask("llama-3.1-70b", 8, k32K);
  const double unlimited = *named(search_plans(question, times_), "TP8").throughput;
  question.longest_tpot_s = 20e-3;
  const ParallelPlan tp8 = evaluate_plan(question, parse_plan("tp8", question.types), times_);
  const auto step = [&](std::int64_t batch) {
    return next_token(question.model, tp8.deployment, batch, k32K, times_).total().seconds;
  };
  EXPECT_LE(step(tp8.served), 20e-3);
  EXPECT_GT(step(tp8.served + 1), 20e-3);
  EXPECT_LT(*tp8.throughput, unlimited);
  question.longest_tpot_s = 1e-6;
  const ParallelPlan never = evaluate_plan(question, tp8.deployment, times_);
  EXPECT_FALSE(never.throughput);
  EXPECT_NE(never.why_no_throughput.find("0.001 ms"), std::string::npos) << never.why_no_throughput;
}

// Nine requests over eight groups: one has two of them. With a balance of a half the fullest group
// has twice the mean.
TEST_F(PlanSearch, TheFullestGroupCounts) {
  const PlanQuestion question = ask("deepseek-r1", 8, k32K);
  Deployment plan = parse_plan("adp8ep8", question.types);
  const auto core = [&](std::int64_t batch) {
    return next_token(question.model, plan, batch, k32K, times_).at(StepPart::attention).seconds;
  };
  EXPECT_EQ(core(9), core(16));
  const double even = core(64), twice = core(128);
  const std::int64_t most = evaluate_plan(question, plan, times_).largest_batch.requests;
  plan.balance = 0.5;
  EXPECT_EQ(core(64), twice);
  EXPECT_GT(twice, even);
  EXPECT_EQ(evaluate_plan(question, plan, times_).largest_batch.requests, most / 2);
}

TEST_F(PlanSearch, AnyNumberOfDevicesHasAnAnswer) {
  for (const char* model : {"llama-3.1-8b", "deepseek-r1", "gpt-oss-20b", "kimi-linear-48b"})
    for (const std::int64_t devices : {1, 3, 6, 7, 64, 72}) {
      const PlanQuestion question = ask(model, devices, k32K);
      const PlanTable table = search_plans(question, times_);
      bool any = false;
      for (const ParallelPlan& plan : table.plans) {
        EXPECT_EQ(plan.deployment.devices(), devices) << plan.name;
        EXPECT_EQ(plan_name(parse_plan(plan.name, question.types)), plan.name);
        any = any || plan.is_possible();
      }
      // R1's 61 layers and 2048 columns of an expert have no divisor of 3 or 7: three stages of one
      // device, but no 72 stages.
      EXPECT_TRUE(any) << model << " " << devices;
      EXPECT_EQ(possible_plan(question.model, question.types, devices).devices(), devices);
    }
}

TEST_F(PlanSearch, ImpossibleOnesSayWhy) {
  const auto why = [](const char* model, const char* name) {
    return why_not_plan(described(model), parse_plan(name, {}));
  };
  EXPECT_EQ(why("llama-3.1-8b", "tp7"), "tp 7 does not divide 32 query heads");
  EXPECT_EQ(why("llama-3.1-8b", "kvp6"), "tp_ff 6 does not divide a width of 14336");
  EXPECT_EQ(why("llama-3.1-8b", "tp16kvp2"),
            "tp 16 duplicates 8 KV heads, which kvp is there to avoid");
  EXPECT_EQ(why("deepseek-r1", "tp2kvp2"),
            "tp 2 duplicates 1 KV head, which kvp is there to avoid");
  EXPECT_EQ(why("deepseek-r1", "adp3ep3"), "ep 3 does not divide 256 experts");
  EXPECT_EQ(why("deepseek-r1", "adp64"),
            "64 devices an expert leave each 32 columns, less than a tile of 128");
  EXPECT_EQ(why("deepseek-r1", "pp72"), "pp 72 is more than 61 layers");
}

}  // namespace
}  // namespace headwise
