#include "advisor/time/serving.h"

#include <gtest/gtest.h>

#include "advisor/model/kv_state.h"
#include "advisor/time/usual_plan.h"
#include "tests/advisor/model/described_model.h"

namespace headwise {
namespace {

constexpr std::int64_t k4K = 4096, k32K = 32768, k128K = 131072;

// 32 layers, K and V, 8 heads of 128 in bf16: 131072 bytes a token.
TEST(KvInPages, RoundsUpToPages) {
  const ModelDescription model = described("llama-3.1-8b");
  EXPECT_EQ(kv_bytes_in_pages(model, DType::bf16, 1000, 64), 1024 * 131072);
  EXPECT_EQ(kv_bytes_in_pages(model, DType::bf16, 1024, 64), 1024 * 131072);
  EXPECT_EQ(kv_bytes_in_pages(model, DType::bf16, 1025, 64), 1088 * 131072);
  EXPECT_EQ(kv_bytes_in_pages(model, DType::f8e4m3, 1000, 1), 1000 * 65536);
}

// A window of 4096 tokens that ends anywhere lies in 65 pages of 64.
TEST(KvInPages, AWindowTouchesAPageMore) {
  const ModelDescription model = described("mistral-7b-v0.1");
  EXPECT_EQ(kv_bytes_in_pages(model, DType::bf16, k32K, 64), 65 * 64 * 131072);
  EXPECT_EQ(kv_bytes_in_pages(model, DType::bf16, 100, 64), 128 * 131072);
  EXPECT_EQ(kv_bytes_in_pages(model, DType::bf16, k32K, 1), kv_bytes(model, DType::bf16, k32K));
}

TEST(KvPerDevice, SplitsWhatCanBeSplit) {
  const ModelDescription llama = described("llama-3.1-70b"), r1 = described("deepseek-r1");
  const auto bytes = [](const ModelDescription& model, const Deployment& deployment) {
    return kv_bytes_per_device(model, deployment, k128K, 64);
  };
  constexpr double kGiB = 1 << 30;
  EXPECT_EQ(bytes(llama, {}), 40 * kGiB);
  EXPECT_EQ(bytes(llama, {.tp = 8, .tp_ff = 8}), 5 * kGiB);
  EXPECT_EQ(bytes(llama, {.tp = 16, .tp_ff = 16}), 5 * kGiB);  // 8 KV heads, each twice
  EXPECT_EQ(bytes(llama, {.tp = 8, .kvp = 2, .tp_ff = 16}), 2.5 * kGiB);
  EXPECT_EQ(bytes(llama, {.pp = 4}), 10 * kGiB);
  const double latent = 70272.0 * k128K;  // 61 layers of 576 in bf16, whatever tp
  EXPECT_EQ(bytes(r1, {}), latent);
  EXPECT_EQ(bytes(r1, {.tp = 8, .tp_ff = 8, .ep = 8}), latent);
  EXPECT_EQ(bytes(r1, {.adp = 8, .ep = 8}), latent);
}

// 8,029,995,008 weights (without norms) in bf16 are 16,059,990,016 bytes; of 141 GiB nine tenths
// are 136,257,837,465; a request of 32k takes 4 GiB: 27.98. One of 4k takes half a GiB: 223.9.
TEST(LargestBatch, OfLlama8bOnOneH200) {
  const ModelDescription model = described("llama-3.1-8b");
  const Hardware h200 = read_hardware("h200");
  EXPECT_EQ(weight_bytes(model, {}), 16059990016.0);
  EXPECT_EQ(largest_batch(model, {}, h200, k32K, {}).requests, 27);
  EXPECT_EQ(largest_batch(model, {}, h200, k4K, {}).requests, 223);
  EXPECT_EQ(largest_batch(model, {.kv_type = DType::f8e4m3}, h200, k32K, {}).requests, 55);
  EXPECT_EQ(largest_batch(model, {}, h200, k32K, {.reserve = 0.0}).requests, 31);
}

// 70,552,387,584 weights: a layer has 8192 (10240 + 8192) + 3 8192 28672, both tables 128256 8192.
// Eight GPUs have 17,638,096,896 bytes of them each, and room for 118,619,740,569 of KV: 22.09
// requests of 5 GiB.
TEST(LargestBatch, OfLlama70b) {
  const ModelDescription model = described("llama-3.1-70b");
  const Hardware h200 = read_hardware("h200");
  const Deployment tp8{.tp = 8, .tp_ff = 8};
  EXPECT_EQ(weight_bytes(model, tp8), 17638096896.0);
  EXPECT_EQ(largest_batch(model, tp8, h200, k128K, {}).requests, 22);
  const BatchLimit alone = largest_batch(model, {}, h200, k4K, {});
  EXPECT_EQ(alone.requests, 0);
  EXPECT_EQ(alone.why_not, "weights of 131.4 GiB a device do not fit in 126.9 GiB");
}

TEST(LargestBatch, CountsRequestsOfAllGroups) {
  const ModelDescription model = described("deepseek-r1");
  const Deployment groups{.projections = WeightFormat::fp8_block,
                          .feed_forward = WeightFormat::fp8_block,
                          .adp = 8,
                          .ep = 8};
  const BatchLimit limit = largest_batch(model, groups, read_hardware("h200"), k128K, {});
  EXPECT_GT(limit.requests, 0);
  EXPECT_EQ(limit.requests % 8, 0);
}

TEST(LargestBatch, NeedsTheMemorysSize) {
  const BatchLimit limit =
      largest_batch(described("llama-3.1-8b"), {}, read_hardware("epyc_9005"), k4K, {});
  EXPECT_EQ(limit.requests, 0);
  EXPECT_EQ(limit.why_not, "epyc_9005: its memory is not known");
}

// Found by search, held against every context that is a multiple of 128.
TEST(Crossovers, AreTheFirstContextOfAHalf) {
  const DeviceTimes times = device_times(read_hardware("h200"));
  const ModelDescription model = described("llama-3.1-8b");
  const auto prefill = [&](std::int64_t context) {
    return *first_token(model, {}, {.count = context}, times).attention_share();
  };
  const auto decode = [&](std::int64_t context) {
    return *next_token(model, {}, 16, context, times).attention_share();
  };
  const auto expect_first = [](const Crossover& found, const auto& share) {
    ASSERT_TRUE(found.context) << found.why_not;
    EXPECT_GE(share(*found.context), 0.5);
    EXPECT_LT(share(*found.context - 1), 0.5);
    for (std::int64_t context = 256; context < *found.context; context += 128)
      ASSERT_LT(share(context), 0.5) << context;
  };
  expect_first(prefill_crossover(model, {}, times), prefill);
  expect_first(decode_crossover(model, {}, 16, times), decode);
}

TEST(Crossovers, SayWhyThereIsNone) {
  const DeviceTimes h200 = device_times(read_hardware("h200"));
  const Crossover never = decode_crossover(described("mistral-7b-v0.1"), {}, 1, h200);
  EXPECT_FALSE(never.context);
  EXPECT_NE(never.why_not.find("below a half"), std::string::npos) << never.why_not;
  const DeviceTimes cpu = device_times(read_hardware("epyc_9005"));
  EXPECT_FALSE(prefill_crossover(described("llama-3.1-8b"), {}, cpu).context);
}

TEST(UsualPlan, SplitsHeadsOrRequests) {
  const Deployment dense = usual_plan(described("llama-3.1-70b"), {}, 8);
  EXPECT_EQ(dense.tp, 8);
  EXPECT_EQ(dense.tp_ff, 8);
  const Deployment latent = usual_plan(described("deepseek-r1"), {}, 8);
  EXPECT_EQ(latent.tp, 1);
  EXPECT_EQ(latent.adp, 8);
  EXPECT_EQ(latent.ep, 8);
}

TEST(UsualPlan, TakesAsFewDevicesAsHoldTheModel) {
  const Hardware h200 = read_hardware("h200");
  EXPECT_EQ(fewest_devices(described("llama-3.1-8b"), {}, h200, k128K, {}).devices, 1);
  EXPECT_EQ(fewest_devices(described("llama-3.1-70b"), {}, h200, k128K, {}).devices, 2);
}

}  // namespace
}  // namespace headwise
