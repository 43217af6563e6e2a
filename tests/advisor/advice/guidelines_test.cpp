#include <gtest/gtest.h>

#include <cmath>

#include "advisor/advice/judge.h"
#include "advisor/device/hardware.h"
#include "advisor/model/model_layers.h"
#include "advisor/time/usual_plan.h"
#include "tests/advisor/model/described_model.h"

namespace headwise {
namespace {

constexpr std::int64_t k128K = 131072;

constexpr auto kFollows = GuidelineVerdict::follows;
constexpr auto kPartly = GuidelineVerdict::partly;
constexpr auto kBreaks = GuidelineVerdict::breaks;
constexpr auto kNot = GuidelineVerdict::does_not_apply;

ModelDescription model_of(const std::string& name) {
  if (name != "mha") return described(name);
  nlohmann::json config = config_json("llama-3.1-8b");
  config["num_key_value_heads"] = 32;
  return description_of(config);
}

Served served(const std::string& name, std::int64_t devices = 1) {
  const ModelDescription model = model_of(name);
  const Deployment plan = usual_plan(model, {}, devices);
  return {model, plan, {.batch = plan.adp}};
}

std::int64_t longest(const ModelDescription& model) { return std::min(model.context, k128K); }

std::vector<Guideline> judged(const Served& model, const DeviceTimes& times) {
  return judge_guidelines(model, longest(model.model), times);
}

struct Row {
  const char* name;
  std::int64_t devices;
  GuidelineVerdict group, head, kv, parallel;
};

class GuidelineVerdicts : public testing::TestWithParam<Row> {
 protected:
  const DeviceTimes times_ = device_times(read_hardware("h200"));
};

// On H200, a request a group, at 128k or what the model is made for.
TEST_P(GuidelineVerdicts, AreWhatTheTimesSay) {
  const Row& row = GetParam();
  const std::vector<Guideline> all = judged(served(row.name, row.devices), times_);
  ASSERT_EQ(all.size(), 4U);
  const GuidelineVerdict expected[] = {row.group, row.head, row.kv, row.parallel};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(all[i].verdict, expected[i])
        << all[i].name << " " << name_of(all[i].verdict) << ": " << all[i].gain;
}

INSTANTIATE_TEST_SUITE_P(
    H200, GuidelineVerdicts,
    testing::Values(
        // Group 4 and full attention everywhere: half of a step is reading keys.
        Row{"llama-3.1-8b", 1, kPartly, kFollows, kBreaks, kNot},
        Row{"mha", 1, kBreaks, kFollows, kBreaks, kNot},
        // Group 16 is the largest that is recommended.
        Row{"qwen3-235b-a22b", 4, kFollows, kFollows, kFollows, kFollows},
        // Heads of 64: as many exponentials as products.
        Row{"gpt-oss-120b", 2, kPartly, kPartly, kPartly, kFollows},
        // One stored row for 128 heads, requests of their own on each GPU.
        Row{"deepseek-r1", 16, kFollows, kFollows, kFollows, kFollows},
        // Five of six layers have windows; what is left is halved by an 8-bit cache.
        Row{"gemma-3-27b", 1, kFollows, kFollows, kPartly, kNot},
        // Three of four layers are linear; a KV head a GPU, which a larger group would only double.
        Row{"qwen3-next-80b-a3b", 2, kFollows, kFollows, kPartly, kFollows},
        Row{"mistral-7b-v0.1", 1, kFollows, kFollows, kFollows, kNot}),
    [](const auto& row) {
      std::string name = row.param.name;
      for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      return name;
    });

class JudgedGuidelines : public testing::TestWithParam<const char*> {
 protected:
  static int rank(GuidelineVerdict verdict) {
    return verdict == kBreaks ? 2 : verdict == kPartly ? 1 : 0;
  }

  const DeviceTimes times_ = device_times(read_hardware(GetParam()));
};

using Judged = Guideline (*)(const Judge&);

// A recommended change never makes a model worse in what it was recommended for.
TEST_P(JudgedGuidelines, FollowingOneMakesItsVerdictNoWorse) {
  struct Change {
    Judged judge;
    Parameter parameter;
    const char* words;  ///< in the gain, before the value
  };
  const Change changes[] = {
      {judge_group_size, Parameter::group_size, "group size "},
      {judge_head_dimension, Parameter::head_dim, "head dimension "},
      {judge_kv_state, Parameter::full_every, "full layers "},
      {judge_kv_state, Parameter::kv_type, "KV "},
  };
  for (const auto& entry : std::filesystem::directory_iterator(HEADWISE_CONFIGS)) {
    const Served model = served(entry.path().stem().string(), 8);
    const std::int64_t context = longest(model.model);
    for (const auto& [judge, parameter, words] : changes) {
      const Guideline before = judge(Judge(model, context, times_));
      if (before.verdict == kFollows || !before.gain.starts_with(words)) continue;
      const std::string to = before.gain.substr(before.gain.find("-> ") + 3);
      const Variation variation = parameter == Parameter::kv_type ? type_variation(DType::f8e4m3)
                                  : parameter == Parameter::full_every
                                      ? count_variation(parameter, 4)
                                      : count_variation(parameter, std::stol(to));
      const Variant variant = what_if(model.model, model.deployment, variation);
      ASSERT_EQ(variant.why_not, "");
      const Served changed{variant.model, variant.deployment, model.load};
      const Guideline after = judge(Judge(changed, context, times_));
      EXPECT_LE(rank(after.verdict), rank(before.verdict))
          << entry.path().stem() << ": " << before.gain << " then " << after.gain;
    }
  }
}

TEST_P(JudgedGuidelines, SayWhatTheyRestOn) {
  for (const auto& entry : std::filesystem::directory_iterator(HEADWISE_CONFIGS)) {
    const Served model = served(entry.path().stem().string(), 8);
    for (const Guideline& each : judged(model, times_)) {
      EXPECT_FALSE(each.reason.empty());
      EXPECT_FALSE(each.check.empty());
      if (rank(each.verdict) > 0) {
        EXPECT_FALSE(each.gain.empty()) << each.name;
      }
      for (const Gain& gain : each.gains) {
        if (!gain.total) continue;
        EXPECT_FALSE(gain.total.source.empty());
        EXPECT_GE(gain.total.error, 0.0);
        EXPECT_TRUE(std::isfinite(gain.total.ratio) && gain.total.ratio > 0.0) << each.name;
      }
    }
  }
}

// What a change makes of bytes is the most that a bandwidth-bound kernel could make of time.
TEST_P(JudgedGuidelines, PromiseNoIdealRatios) {
  const std::vector<Guideline> all = judged(served("llama-3.1-8b"), times_);
  for (const Gain& gain : all[0].gains)
    EXPECT_TRUE(!gain.attention || gain.attention.ratio < 2.0) << gain.phase;
  for (const Gain& gain : all[2].gains) {
    if (!gain.attention) continue;
    EXPECT_LT(gain.attention.ratio, gain.change.starts_with("KV") ? 2.0 : 4.0) << gain.change;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, JudgedGuidelines, testing::Values("h200", "b200", "rtx_4090"),
                         [](const auto& hardware) { return std::string(hardware.param); });

// Eight devices with one KV head, which each of them stores: by heads it is kept eight times.
TEST(ParallelWidth, CountsCopies) {
  nlohmann::json config = config_json("llama-3.1-70b");
  config["num_key_value_heads"] = 1;
  const ModelDescription model = description_of(config);
  const DeviceTimes times = device_times(read_hardware("h200"));
  const Served heads{model, usual_plan(model, {}, 8), {}};
  const Guideline copied = judge_parallel_width(Judge(heads, k128K, times));
  EXPECT_NE(copied.verdict, kFollows);
  EXPECT_NE(copied.reason.find("8.0 times"), std::string::npos) << copied.reason;
  Served requests = heads;
  requests.deployment.tp = 1;
  requests.deployment.adp = 8;
  EXPECT_EQ(judge_parallel_width(Judge(requests, k128K, times)).verdict, kFollows);
  Served parts = heads;
  parts.deployment.tp = 1;
  parts.deployment.kvp = 8;
  EXPECT_EQ(judge_parallel_width(Judge(parts, k128K, times)).verdict, kFollows);
}

TEST(VerdictOf, TakesErrorsIntoAccount) {
  EXPECT_EQ(verdict_of({.ratio = 1.05}), kFollows);
  EXPECT_EQ(verdict_of({.ratio = 1.3}), kPartly);
  EXPECT_EQ(verdict_of({.ratio = 1.6, .error = 0.1}), kBreaks);
  EXPECT_EQ(verdict_of({.ratio = 1.6, .error = 0.6}), kPartly);
  // 1.6 less 32 % of it is 1.088, though 1.6 / 1.32 is 1.21.
  EXPECT_EQ(verdict_of({.ratio = 1.6, .error = 0.31}), kBreaks);
  EXPECT_EQ(verdict_of({.ratio = 1.6, .error = 0.32}), kPartly);
  EXPECT_EQ(verdict_of({.ratio = 9.0, .error = 1.0}), kPartly);
}

TEST(HeadDimension, CountsWhatKernelsPad) {
  nlohmann::json config = config_json("qwen3-8b");
  config["head_dim"] = 80;
  const Served model{description_of(config), {}, {}};
  const Guideline judged_80 =
      judge_head_dimension(Judge(model, 32768, device_times(read_hardware("h200"))));
  EXPECT_EQ(judged_80.verdict, kPartly);
  EXPECT_NE(judged_80.reason.find("pad"), std::string::npos) << judged_80.reason;
}

TEST(UnknownTimes, CannotBeJudgedWithoutTimes) {
  const DeviceTimes cpu = device_times(read_hardware("epyc_9005"));
  const Guideline head = judge_head_dimension(Judge(served("llama-3.1-8b"), k128K, cpu));
  EXPECT_EQ(head.verdict, kNot);
  EXPECT_NE(head.reason.find("no rate of products"), std::string::npos) << head.reason;
}

}  // namespace
}  // namespace headwise
