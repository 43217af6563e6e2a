#include <gtest/gtest.h>

#include "advisor/time/device_times.h"
#include "advisor/time/serving.h"

namespace headwise {
namespace {

// A device of which everything was measured: attention of a step takes a microsecond for every 1000
// pairs and 5 more, products and overhead what their tables say.

constexpr std::int64_t kChunk = 512;

double attention_us(double prefix, double tokens) {
  return 5.0 + (prefix * tokens + tokens * (tokens + 1) / 2) / 1000.0;
}

AxisValues attention_fixed() {
  return {{"q_type", "bf16"}, {"kv_type", "bf16"}, {"q_heads", 4.0},
          {"kv_heads", 2.0},  {"head_dim", 64.0},  {"window", 0.0}};
}

CalibrationTable prefill_table() {
  std::vector<MeasuredPoint> points;
  for (const double prefix : {0.0, 768.0, 6144.0, 24576.0})
    for (const double tokens : {128.0, 512.0})
      points.push_back({{1, prefix, tokens}, attention_us(prefix, tokens), 0.01});
  return {"attention_prefill", attention_fixed(),
          CalibrationGrid({{.name = "batch", .unit = ""},
                           {.name = "prefix", .unit = "", .is_log = false},
                           {.name = "q_len", .unit = ""}},
                          std::move(points))};
}

CalibrationTable decode_table() {
  std::vector<MeasuredPoint> points;
  for (const double keys : {193.0, 1537.0, 12289.0})
    points.push_back({{1, keys}, 1.0 + keys / 100.0, 0.01});
  return {"attention_decode", attention_fixed(),
          CalibrationGrid({{.name = "batch", .unit = ""}, {.name = "kv_len", .unit = ""}},
                          std::move(points))};
}

CalibrationTable gemm_table(const std::string& weights, std::vector<MeasuredPoint> points) {
  return {"gemm",
          {{"weights", weights}},
          CalibrationGrid(
              {{.name = "n", .unit = ""}, {.name = "k", .unit = ""}, {.name = "m", .unit = ""}},
              std::move(points))};
}

Calibration own(std::vector<CalibrationTable> tables, const std::string& system = "toy") {
  return {{.name = "own",
           .source = Calibration::Source::measured,
           .system = system,
           .framework = "headwise",
           .version = "1",
           .date = "2026-12-01",
           .origin = "a test",
           .licence = "",
           .file = "own.json"},
          std::move(tables)};
}

/// One layer of hidden 256 and feed-forward 512, 1000 tokens.
ModelDescription model() {
  ModelDescription model{.model_type = "toy",
                         .hidden = 256,
                         .vocab = 1000,
                         .context = 32768,
                         .tied_embeddings = true,
                         .groups = {},
                         .group_of_layer = {0},
                         .assumptions = {}};
  model.groups.push_back({.count = 1,
                          .layer = {.attention = SoftmaxAttention{4, 2, 64, 64, {}},
                                    .feed_forward = DenseFeedForward{.width = 512}}});
  return model;
}

Deployment deployment() {
  Deployment deployment;
  deployment.chunk = kChunk;
  const StoredFormat q4{"q4_1", 0.625};
  deployment.stored = StoredMatrices{q4, q4, q4, q4, {"q8_0", 1.0625}};
  return deployment;
}

Hardware toy() {
  Hardware hardware{.name = "local", .system = "toy", .title = "A toy", .note = "", .file = {}};
  hardware.kind = Hardware::Kind::cpu;
  hardware.memory_bytes_per_s =
      Figure{.value = 4e10, .up_to = {}, .origin = "", .note = "", .others = {}};
  return hardware;
}

class OwnTimes : public testing::Test {
 protected:
  DeviceTimes times_ =
      device_times(toy(), {}, {},
                   {own({prefill_table(),
                         decode_table(),
                         gemm_table("q4_1", {{{512, 256, 1}, 4, 0.01},
                                             {{512, 256, 512}, 100, 0.01},
                                             {{256, 256, 1}, 2, 0.01},
                                             {{256, 256, 512}, 50, 0.01},
                                             {{1024, 256, 1}, 8, 0.01},
                                             {{1024, 256, 512}, 200, 0.01},
                                             {{256, 512, 1}, 4, 0.01},
                                             {{256, 512, 512}, 100, 0.01}}),
                         gemm_table("q8_0", {{{1000, 256, 1}, 16, 0.01}}),
                         gemm_table("q8_0, largest row", {{{1000, 256, 1}, 9, 0.01}}),
                         {"layer_overhead",
                          {{"hidden", 256.0}, {"projected", 768.0}, {"feed_forward", 512.0}},
                          CalibrationGrid({{.name = "rows", .unit = ""}},
                                          {{{1}, 3, 0.01}, {{512}, 40, 0.01}})}})});

  StepTime prefill(std::int64_t tokens) const {
    return first_token(model(), deployment(), {.prefix = 0, .count = tokens}, times_);
  }
  StepTime decode(std::int64_t context) const {
    return next_token(model(), deployment(), 1, context, times_);
  }
};

double us(const Estimate& estimate) { return estimate.seconds * 1e6; }

TEST_F(OwnTimes, APrefillIsItsSteps) {
  double wanted = 0.0;
  for (int step = 0; step < 8; ++step) wanted += attention_us(step * kChunk, kChunk);
  const Estimate attention = prefill(8 * kChunk).at(StepPart::attention);
  EXPECT_NEAR(us(attention), wanted, 1e-6 * wanted);
  EXPECT_STREQ(attention.source(), "interpolated");
  // Sixteen runs of four steps each: as many steps, each like the middle of its run.
  wanted = 0.0;
  for (int step = 0; step < 64; ++step) wanted += attention_us(step * kChunk, kChunk);
  EXPECT_NEAR(us(prefill(64 * kChunk).at(StepPart::attention)), wanted, 1e-3 * wanted);
}

TEST_F(OwnTimes, MatricesCountInTheFormatsThatTheFileStores) {
  const StepTime step = prefill(kChunk);
  EXPECT_DOUBLE_EQ(us(step.at(StepPart::projections)), 100 + 50);
  EXPECT_DOUBLE_EQ(us(step.at(StepPart::feed_forward)), 200 + 100);
  EXPECT_DOUBLE_EQ(us(step.at(StepPart::overhead)), 40);
  EXPECT_STREQ(step.at(StepPart::projections).source(), "measured");
  EXPECT_NEAR(step.at(StepPart::projections).error, 0.01, 1e-12);
}

TEST_F(OwnTimes, OnlyDecodingLooksForTheLargestRowAlone) {
  EXPECT_DOUBLE_EQ(us(prefill(kChunk).at(StepPart::output_matrix)), 16);
  EXPECT_DOUBLE_EQ(us(decode(1537).at(StepPart::output_matrix)), 9);
}

TEST_F(OwnTimes, GrowWithTheContext) {
  double prefill_before = 0.0, decode_before = 0.0;
  for (std::int64_t context = 64; context <= 32768; context += 97) {
    const double now = us(prefill(context).total()), then = us(decode(context).total());
    EXPECT_GT(now, prefill_before) << context;
    EXPECT_GT(then, decode_before) << context;
    prefill_before = now;
    decode_before = then;
  }
}

TEST_F(OwnTimes, OfAnotherSystemAreNotAsked) {
  Hardware other = toy();
  other.system = "another";
  const DeviceTimes times = device_times(other, {}, {}, {own({decode_table()})});
  EXPECT_TRUE(times.calibrated().empty());
}

/// Beside H200's third-party tables.
// A table of each type, in a file of its own, of 10 us a key type's number.
TEST(OwnTimesOfTypes, AreFoundByTheTypeOfKAndV) {
  const auto of_type = [](const std::string& kv_type, double us) {
    CalibrationTable table = decode_table();
    table.fixed["kv_type"] = kv_type;
    table.grid = CalibrationGrid({{.name = "batch", .unit = ""}, {.name = "kv_len", .unit = ""}},
                                 {{{1, 193}, us, 0.01}});
    return own({table});
  };
  const auto decode_us = [](const DeviceTimes& times, DType kv_type) {
    const CoreAttention core{.attention = model().groups[0].layer.attention,
                             .kv_type = kv_type,
                             .tokens = {.prefix = 192, .count = 1}};
    return times.time(core).seconds * 1e6;
  };
  const DeviceTimes all = device_times(toy(), {}, {},
                                       {of_type("bf16", 10), of_type("f8e4m3", 20),
                                        of_type("i8", 30), of_type("f16", 40), of_type("f32", 50)});
  EXPECT_DOUBLE_EQ(decode_us(all, DType::bf16), 10);
  EXPECT_DOUBLE_EQ(decode_us(all, DType::f8e4m3), 20);
  EXPECT_DOUBLE_EQ(decode_us(all, DType::i8), 30);
  EXPECT_DOUBLE_EQ(decode_us(all, DType::f16), 40);
  EXPECT_DOUBLE_EQ(decode_us(all, DType::f32), 50);
  const DeviceTimes one = device_times(toy(), {}, {}, {of_type("bf16", 10)});
  EXPECT_DOUBLE_EQ(decode_us(one, DType::f16), 10);  // which is as wide
}

TEST(OwnTimesBesideOthers, ComeFirstExactlyWhereTheyCover) {
  const AxisValues fixed{{"q_type", "bf16"}, {"kv_type", "bf16"}, {"q_heads", 32.0},
                         {"kv_heads", 8.0},  {"head_dim", 128.0}, {"window", 0.0}};
  const Calibration mine =
      own({{"attention_decode", fixed,
            CalibrationGrid({{.name = "batch", .unit = ""}, {.name = "kv_len", .unit = ""}},
                            {{{1, 4096}, 1.25, 0.03}, {{1, 8192}, 2.5, 0.03}})}},
          "h200");
  const DeviceTimes times = device_times(read_hardware("h200"), {}, {}, {mine});
  const auto source = [&](std::int64_t q_heads, std::int64_t context) {
    return std::string(
        times
            .time(CoreAttention{.attention = SoftmaxAttention{q_heads, 8, 128, 128, {}},
                                .tokens = {.prefix = context - 1, .count = 1}})
            .source());
  };
  EXPECT_EQ(source(32, 4096), "measured");
  EXPECT_EQ(source(32, 6000), "interpolated");
  EXPECT_EQ(source(32, 16384), "third-party");
  EXPECT_EQ(source(32, 3000), "third-party, interpolated");
  EXPECT_EQ(source(64, 4096), "third-party");
}

}  // namespace
}  // namespace headwise
