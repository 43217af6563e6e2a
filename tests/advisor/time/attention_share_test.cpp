#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "advisor/device/hardware.h"
#include "advisor/time/step_time.h"
#include "tests/advisor/model/described_model.h"

// DeepSeek-R1's attention in prefill: arithmetic of a script of its own on the same public tables,
// by hand-written shapes: one sequence a GPU, 128 heads on it, eight GPUs share the experts.

namespace headwise {
namespace {

constexpr std::array<std::int64_t, 6> kContexts{4096, 8192, 16384, 32768, 65536, 131072};

Deployment eight_gpus(WeightFormat projections, WeightFormat feed_forward) {
  return {.projections = projections, .feed_forward = feed_forward, .adp = 8, .ep = 8};
}

double share(const ModelDescription& model, const Deployment& deployment, const DeviceTimes& times,
             std::int64_t context) {
  const Step step{.batch = deployment.adp, .tokens = {.count = context}};
  return 100.0 * step_time(model, deployment, step, times).attention_share().value();
}

struct Row {
  const char* name;
  const char* hardware;
  WeightFormat projections, feed_forward;
  DType kv_type;
  const char* routing;
  std::array<double, 6> shares;
};

class AttentionShare : public testing::TestWithParam<Row> {};

TEST_P(AttentionShare, IsThatOfTheTables) {
  const Row& row = GetParam();
  const ModelDescription model = described("deepseek-r1");
  const DeviceTimes times = device_times(read_hardware(row.hardware));
  Deployment deployment = eight_gpus(row.projections, row.feed_forward);
  deployment.kv_type = row.kv_type;
  deployment.routing = row.routing;
  for (std::size_t i = 0; i < kContexts.size(); ++i)
    EXPECT_NEAR(share(model, deployment, times, kContexts[i]), row.shares[i], 0.3)
        << row.name << " at " << kContexts[i];
}

constexpr WeightFormat kBf16 = WeightFormat::bf16;
constexpr WeightFormat kBlock = WeightFormat::fp8_block;
constexpr WeightFormat kFp4 = WeightFormat::nvfp4;

constexpr Row kRows[] = {
    {"h200", "h200", kBlock, kBlock, DType::bf16, "balanced", {15.4, 25.9, 41.0, 58.3, 73.6, 84.8}},
    {"h200_skewed",
     "h200",
     kBlock,
     kBlock,
     DType::bf16,
     "power_law_1.01",
     {11.4, 19.8, 32.9, 49.6, 66.3, 79.8}},
    {"b200", "b200", kBlock, kBlock, DType::bf16, "balanced", {20.7, 32.4, 47.0, 63.4, 77.6, 87.4}},
    {"b200_skewed",
     "b200",
     kBlock,
     kBlock,
     DType::bf16,
     "power_law_1.01",
     {15.6, 25.3, 38.5, 55.1, 71.0, 83.1}},
    {"b200_fp4",
     "b200",
     kBf16,
     kFp4,
     DType::bf16,
     "balanced",
     {16.1, 27.8, 41.7, 58.3, 73.7, 84.8}},
    {"b200_fp4_kv8",
     "b200",
     kBf16,
     kFp4,
     DType::f8e4m3,
     "balanced",
     {16.3, 24.2, 36.8, 51.6, 68.1, 81.0}},
    {"gb200_fp8",
     "gb200",
     kBlock,
     kBlock,
     DType::bf16,
     "balanced",
     {19.8, 29.4, 47.7, 63.8, 77.9, 87.6}},
    {"gb200", "gb200", kBf16, kFp4, DType::bf16, "balanced", {17.1, 25.7, 43.1, 59.4, 74.5, 85.4}}};

INSTANTIATE_TEST_SUITE_P(, AttentionShare, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

// NVIDIA says 18 % at 4k and 85 % at 128k, without the GPU's name.
TEST(AttentionShareOfR1, EndsWhereNvidiaSays) {
  const ModelDescription model = described("deepseek-r1");
  const DeviceTimes times = device_times(read_hardware("gb200"));
  const Deployment deployment = eight_gpus(WeightFormat::bf16, WeightFormat::nvfp4);
  EXPECT_NEAR(share(model, deployment, times, 4096), 18.0, 3.0);
  EXPECT_NEAR(share(model, deployment, times, 131072), 85.0, 3.0);
}

// A share that no input moves would be a constant.
TEST(AttentionShareOfR1, MovesWithEachInput) {
  const nlohmann::json config = config_json("deepseek-r1");
  const DeviceTimes times = device_times(read_hardware("h200"));
  const Deployment deployment = eight_gpus(WeightFormat::fp8_block, WeightFormat::fp8_block);
  const double before = share(described("deepseek-r1"), deployment, times, 16384);
  // by a tenth, and whether attention's share rises or falls
  const std::pair<const char*, int> inputs[] = {
      {"num_attention_heads", 0}, {"hidden_size", -1},         {"moe_intermediate_size", -1},
      {"q_lora_rank", -1},        {"intermediate_size", -1},   {"kv_lora_rank", -1},
      {"qk_rope_head_dim", 0},    {"first_k_dense_replace", 0}};
  for (const auto& [field, direction] : inputs) {
    nlohmann::json changed = config;
    changed[field] = static_cast<int>(std::lround(1.1 * changed[field].get<double>()));
    if (changed[field] == config[field]) changed[field] = config[field].get<int>() + 1;
    const double after = share(description_of(changed), deployment, times, 16384);
    EXPECT_GT(std::abs(after - before), 0.001) << field;
    if (direction != 0) {
      EXPECT_LT(after, before) << field;
    }
  }
  EXPECT_GT(share(described("deepseek-r1"), deployment, times, 18022), before + 1.0);
  Deployment skewed = deployment;
  skewed.routing = "power_law_1.2";
  EXPECT_LT(share(described("deepseek-r1"), skewed, times, 16384), before - 1.0);
}

}  // namespace
}  // namespace headwise
