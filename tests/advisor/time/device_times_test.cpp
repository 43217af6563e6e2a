#include "advisor/time/device_times.h"

#include <gtest/gtest.h>

#include <cmath>

#include "advisor/time/attention_tables.h"
#include "headwise/error.h"

namespace headwise {
namespace {

constexpr std::int64_t k16K = 16384;

CoreAttention decode(std::int64_t q_heads, std::int64_t kv_heads, std::int64_t batch,
                     std::int64_t context, std::int64_t dim = 128) {
  return {.attention = SoftmaxAttention{q_heads, kv_heads, dim, dim, {}},
          .batch = batch,
          .tokens = {.prefix = context - 1, .count = 1}};
}

CoreAttention prefill(std::int64_t q_heads, std::int64_t kv_heads, std::int64_t dim,
                      std::int64_t context, AttentionSpan span = {}) {
  return {.attention = SoftmaxAttention{q_heads, kv_heads, dim, dim, span},
          .tokens = {.prefix = 0, .count = context}};
}

CoreAttention latent_decode(std::int64_t heads, std::int64_t batch, DType kv_type) {
  return {.attention = LatentAttention{heads, 1536, 512, 128, 64, 128, {}},
          .form = LatentForm::absorbed,
          .kv_type = kv_type,
          .batch = batch,
          .tokens = {.prefix = k16K - 1, .count = 1}};
}

double microseconds(const DeviceTimes& times, const CoreAttention& core) {
  return times.time(core).seconds * 1e6;
}

constexpr double kWithin = 0.15;

void expect_ratio(double ratio, double expected, const char* what) {
  EXPECT_NEAR(ratio / expected, 1.0, kWithin) << what;
}

// The guidelines' figures: microseconds and TFLOP/s of the public tables, worked out elsewhere.
struct Evidence {
  const char* hardware;
  double decode_us[4];   // 32 query heads over 8, 4, 2, 1 KV heads, 32 requests at 16k
  double prefill_tf[3];  // heads of 64, 128, 256; 64 over 8 heads at 16k
  double window_gain;    // 128 at 16k, beside none
  double latent_us[3];   // 64 requests on one GPU, on TP8's, on ADP8's
  double latent_f8_us[3];
};

class Guidelines : public testing::TestWithParam<Evidence> {
 protected:
  DeviceTimes times_ = device_times(read_hardware(GetParam().hardware));
};

TEST_P(Guidelines, LargerGroupsDecodeFaster) {
  const std::int64_t kv_heads[] = {8, 4, 2, 1};
  const double base = microseconds(times_, decode(32, 8, 32, k16K));
  for (int i = 1; i < 4; ++i)
    expect_ratio(base / microseconds(times_, decode(32, kv_heads[i], 32, k16K)),
                 GetParam().decode_us[0] / GetParam().decode_us[i], "group");
}

TEST_P(Guidelines, SmallHeadsAreSlow) {
  double rate[3];
  const std::int64_t dims[] = {64, 128, 256};
  for (int i = 0; i < 3; ++i) {
    const CoreAttention core = prefill(64, 8, dims[i], k16K);
    rate[i] = core_attention_work(core).flops / times_.time(core).seconds;
  }
  for (int i : {0, 2})
    expect_ratio(rate[i] / rate[1], GetParam().prefill_tf[i] / GetParam().prefill_tf[1], "dim");
}

TEST_P(Guidelines, WindowsGainFarLessThanTheirPairs) {
  const CoreAttention windowed = prefill(64, 8, 64, k16K, {SpanKind::sliding_window, 128});
  expect_ratio(microseconds(times_, prefill(64, 8, 64, k16K)) / microseconds(times_, windowed),
               GetParam().window_gain, "window");
}

// What a decode reads of a window does not grow with the context, beyond the measured batches too.
TEST_P(Guidelines, WindowsGoOnByWhatTheyRead) {
  const auto windowed = [&](std::int64_t context) {
    CoreAttention core = decode(64, 8, 4096, context, 64);
    std::get<SoftmaxAttention>(core.attention).span = {SpanKind::sliding_window, 128};
    return microseconds(times_, core);
  };
  EXPECT_LT(windowed(8 * k16K), 1.5 * windowed(k16K));
}

TEST_P(Guidelines, LatentAttentionWantsRequestsSplitNotHeads) {
  for (const DType kv_type : {DType::bf16, DType::f8e4m3}) {
    const double* us = kv_type == DType::bf16 ? GetParam().latent_us : GetParam().latent_f8_us;
    const double one = microseconds(times_, latent_decode(128, 64, kv_type));
    const double tp8 = microseconds(times_, latent_decode(16, 64, kv_type));
    const double adp8 = microseconds(times_, latent_decode(128, 8, kv_type));
    expect_ratio(one / tp8, us[0] / us[1], "TP8");
    expect_ratio(tp8 / adp8, us[1] / us[2], "ADP8 over TP8");
  }
}

INSTANTIATE_TEST_SUITE_P(
    , Guidelines,
    testing::Values(
        Evidence{
            "h200", {493, 263, 148, 112}, {445, 523, 564}, 7.5, {479, 294, 77}, {427, 215, 69}},
        Evidence{
            "b200", {304, 158, 86, 52}, {734, 1130, 1233}, 7.1, {232, 236, 46}, {124, 108, 29}}),
    [](const auto& each) { return each.param.hardware; });

/// By the rules alone: the answers of a shape that was measured, without its own tables.
class WithoutTable {
 public:
  WithoutTable(const char* query, AxisValues shape) {
    std::vector<Calibration> rest;
    for (const Calibration& each : read_calibrations()) {
      std::vector<CalibrationTable> tables;
      for (const CalibrationTable& table : each.tables())
        if (table.query != query || !is(table.fixed, shape)) tables.push_back(table);
      rest.emplace_back(each.origin(), std::move(tables));
    }
    times_.emplace(AssumedTimes(read_hardware("h200"), default_efficiencies()),
                   CalibratedTimes(std::move(rest), "h200", ""));
  }
  const DeviceTimes& times() const { return *times_; }

 private:
  static bool is(const AxisValues& fixed, const AxisValues& shape) {
    for (const auto& [name, value] : shape)
      if (fixed.find(name)->second != value) return false;
    return true;
  }
  std::optional<DeviceTimes> times_;
};

struct Rule {
  const char* name;
  const char* query;
  AxisValues left_out;
  CoreAttention core;
};

// Each rule, where the truth was measured: within its own error bar, and never called measured.
TEST(Rules, MissByLessThanTheySay) {
  const AttentionSpan llama4{SpanKind::sliding_window, 8192};
  CoreAttention windowed_decode = decode(40, 8, 16, k16K);
  std::get<SoftmaxAttention>(windowed_decode.attention).span = llama4;
  const Rule rules[] = {
      {"heads, prefill",
       "attention_prefill",
       {{"q_heads", 32.0}, {"kv_heads", 8.0}},
       prefill(32, 8, 128, 8192)},
      {"heads, decode",
       "attention_decode",
       {{"q_heads", 64.0}, {"kv_heads", 8.0}},
       decode(64, 8, 16, k16K)},
      {"group, prefill", "attention_prefill", {{"q_heads", 40.0}}, prefill(40, 8, 128, 8192)},
      {"group, decode", "attention_decode", {{"q_heads", 40.0}}, decode(40, 8, 16, 8192)},
      {"dimension, prefill", "attention_prefill", {{"head_dim", 128.0}}, prefill(32, 8, 128, 8192)},
      {"dimension, decode", "attention_decode", {{"head_dim", 128.0}}, decode(32, 8, 16, 8192)},
      {"long window, prefill",
       "attention_prefill",
       {{"window", 8192.0}},
       prefill(40, 8, 128, k16K, llama4)},
      {"window, decode", "attention_decode", {{"window", 8192.0}}, windowed_decode},
      {"short window, prefill",
       "attention_prefill",
       {{"window", 128.0}},
       prefill(64, 8, 64, k16K, {SpanKind::sliding_window, 128})},
      {"latent heads, prefill",
       "mla_prefill",
       {{"q_heads", 64.0}},
       {.attention = LatentAttention{64, 1536, 512, 128, 64, 128, {}},
        .tokens = {.prefix = 0, .count = 8192}}},
      {"latent heads, decode",
       "mla_decode",
       {{"q_heads", 64.0}},
       latent_decode(64, 32, DType::bf16)}};
  const DeviceTimes all = device_times(read_hardware("h200"));
  for (const Rule& rule : rules) {
    const WithoutTable without(rule.query, rule.left_out);
    const Estimate truth = all.time(rule.core), ruled = without.times().time(rule.core);
    ASSERT_TRUE(truth && ruled) << rule.name;
    EXPECT_LE(std::abs(ruled.seconds / truth.seconds - 1.0), ruled.error) << rule.name;
    EXPECT_STREQ(ruled.source(), "third-party, extrapolated") << rule.name;
    EXPECT_STRNE(truth.source(), "third-party, extrapolated") << rule.name;
  }
}

// Chunks of 8192 over 20000 tokens are two requests of 8192 and one of 3616.
TEST(Rules, ChunksAreRequestsOfTheirOwn) {
  const DeviceTimes times = device_times(read_hardware("h200"));
  CoreAttention two = prefill(40, 8, 128, 8192);
  two.batch = 2;
  EXPECT_DOUBLE_EQ(times.time(prefill(40, 8, 128, 20000, {SpanKind::chunked, 8192})).seconds,
                   times.time(two).seconds + times.time(prefill(40, 8, 128, 3616)).seconds);
}

// 4096 x 4096 x 4096 in bf16 on an A100: 137.4 GFLOP at half of 312 TFLOP/s, and 3 us.
TEST(AssumedTimes, AreRatesTimesWhatKernelsReach) {
  const DeviceTimes times = device_times(read_hardware("a100"));
  const Estimate product = times.time(Product{.m = 4096, .n = 4096, .k = 4096});
  EXPECT_NEAR(product.seconds, 2.0 * std::pow(4096.0, 3) / (0.5 * 312e12) + 3e-6, 1e-9);
  EXPECT_STREQ(product.source(), "assumed");
  EXPECT_GE(product.error, 0.25);
  // one request, 8 KV heads of 128, 32768 tokens in bf16: 134 MB at 0.8 of 2.039 TB/s
  const double kv = 2.0 * 8 * 128 * 32768 * 2, queries = 2.0 * 32 * 128 * 2;
  EXPECT_NEAR(times.time(decode(32, 8, 1, 32768)).seconds, (kv + queries) / (0.8 * 2.039e12) + 3e-6,
              1e-9);
}

TEST(AssumedTimes, SayThatARateIsMissing) {
  const DeviceTimes times = device_times(read_hardware("epyc_9005"));
  const Estimate prompt = times.time(prefill(32, 8, 128, 4096));
  EXPECT_FALSE(prompt);
  EXPECT_NE(prompt.why_not.find("no rate of products"), std::string::npos) << prompt.why_not;
  EXPECT_TRUE(times.time(decode(32, 8, 1, 4096)));  // reads bind it, whatever the rate
}

// 8 devices: 7/8 of 1 MB twice over 450 GB/s at 0.7, and 8 us.
TEST(AssumedTimes, RingsMoveTheirBytes) {
  const DeviceTimes times = device_times(read_hardware("h200"));
  const Exchange sum{.kind = Exchange::Kind::all_reduce, .bytes = 1e6, .devices = 8};
  EXPECT_NEAR(times.assumed().time(sum).seconds, 2.0 * 7.0 / 8.0 * 1e6 / (0.7 * 450e9) + 8e-6,
              1e-12);
  const DeviceTimes slow = device_times(read_hardware("h200"), "", 50e9);
  EXPECT_NEAR(slow.time(sum).seconds, 2.0 * 7.0 / 8.0 * 1e6 / (0.7 * 50e9) + 8e-6, 1e-12);
  // NCCL 2.29.2 over 8 H200, in aiconfigurator's tables: 10.3 to 14.6 us for 1 KiB to 128 KiB
  const Exchange few{.kind = Exchange::Kind::all_gather, .bytes = 1024, .devices = 8};
  const Estimate gather = times.time(few);
  EXPECT_NEAR(gather.seconds, 7.0 / 8.0 * 1024 / (0.7 * 450e9) + 8e-6, 1e-12);
  EXPECT_GT(gather.seconds * (1.0 + gather.error), 10.3e-6);
  EXPECT_FALSE(device_times(read_hardware("rtx_4090")).time(sum));
}

// Small windows never gain what their pairs promise, tables or not.
TEST(AssumedTimes, WindowsGainLessThanTheirPairs) {
  const DeviceTimes times = device_times(read_hardware("a100"));
  const double gain =
      times.time(prefill(32, 8, 128, k16K)).seconds /
      times.time(prefill(32, 8, 128, k16K, {SpanKind::sliding_window, 128})).seconds;
  EXPECT_GT(gain, 4.0);
  EXPECT_LT(gain, 10.0);  // of 64
}

TEST(CalibratedTimes, AskTheFrameworkThatIsNamed) {
  const Hardware h200 = read_hardware("h200");
  const auto framework = [&](std::string_view name, auto op) {
    return device_times(h200, name).time(op).of.front()->framework;
  };
  EXPECT_EQ(framework("", decode(32, 8, 1, 4096)), "trtllm");
  EXPECT_EQ(framework("vllm", decode(32, 8, 1, 4096)), "vllm");
  EXPECT_EQ(framework("vllm", Product{.m = 64, .n = 4096, .k = 4096}), "trtllm");  // has none
  EXPECT_THROW(device_times(h200, "nonsense"), Error);
}

TEST(DeviceTimes, KeepWhatTheyRestOn) {
  const DeviceTimes times = device_times(read_hardware("h200"));
  const Estimate estimate = times.time(Product{.m = 8192, .n = 2112, .k = 7168});
  ASSERT_EQ(estimate.of.size(), 1U);
  const Provenance& from = *estimate.of.front();
  EXPECT_EQ(from.query, "gemm");
  EXPECT_EQ(from.file.filename(), "h200-trtllm.json");
  EXPECT_EQ(from.at.at("n"), AxisValue(2112.0));
  EXPECT_EQ(from.source, "third-party, interpolated");
  EXPECT_STREQ(estimate.source(), "third-party, interpolated");
}

}  // namespace
}  // namespace headwise
