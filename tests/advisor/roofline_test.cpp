#include "advisor/roofline.h"

#include <gtest/gtest.h>

#include <array>

namespace headwise {
namespace {

AttentionShape llama_8b() {
  return {.q_heads = 32, .kv_heads = 8, .head_dim_qk = 128, .head_dim_v = 128};
}

AttentionShape absorbed_mla() {
  return {
      .q_heads = 128, .kv_heads = 1, .head_dim_qk = 576, .head_dim_v = 512, .v_is_k_prefix = true};
}

AttentionWork work_of(const AttentionShape& shape, const RequestLengths& request) {
  return attention_work(shape, std::array{request});
}

/// The definition, row by row and key by key.
std::int64_t count_pairs(const AttentionShape& shape, const RequestLengths& lengths) {
  std::int64_t pairs = 0;
  const std::int64_t first = lengths.q_start.value_or(lengths.kv_len - lengths.q_len);
  for (std::int64_t p = first; p < first + lengths.q_len; ++p)
    for (std::int64_t s = 0; s < lengths.kv_len; ++s)
      pairs += (shape.window_left < 0 || s >= p - shape.window_left) &&
               (shape.window_right < 0 || s <= p + shape.window_right);
  return pairs;
}

std::int64_t count_keys(const AttentionShape& shape, const RequestLengths& lengths) {
  std::int64_t keys = 0;
  const std::int64_t first = lengths.q_start.value_or(lengths.kv_len - lengths.q_len);
  for (std::int64_t s = 0; s < lengths.kv_len; ++s) {
    bool seen = false;
    for (std::int64_t p = first; p < first + lengths.q_len; ++p)
      seen = seen || ((shape.window_left < 0 || s >= p - shape.window_left) &&
                      (shape.window_right < 0 || s <= p + shape.window_right));
    keys += seen;
  }
  return keys;
}

TEST(Roofline, CountsPairsAndKeysAsTheDefinitionDoes) {
  AttentionShape shape = llama_8b();
  for (const std::int64_t left : {-1, 0, 1, 3, 20})
    for (const std::int64_t right : {-1, 0, 2, 20})
      for (const std::int64_t q_len : {0, 1, 4, 9})
        for (const std::int64_t kv_len : {0, 1, 5, 13})
          for (const std::optional<std::int64_t> start :
               {std::optional<std::int64_t>{}, {0}, {2}, {40}}) {
            shape.window_left = left;
            shape.window_right = right;
            const RequestLengths lengths{q_len, kv_len, start};
            const std::string what = to_string(shape) + " q " + std::to_string(q_len) + " kv " +
                                     std::to_string(kv_len) + " start " +
                                     std::to_string(start.value_or(-1));
            EXPECT_EQ(visible_pairs(shape, lengths), count_pairs(shape, lengths)) << what;
            EXPECT_EQ(visible_keys(shape, lengths), count_keys(shape, lengths)) << what;
          }
}

TEST(Roofline, PairsOfPublishedShapes) {
  AttentionShape shape = llama_8b();
  EXPECT_EQ(visible_pairs(shape, {4096, 131072, {}}), 528'484'352);
  shape.window_left = 127;
  EXPECT_EQ(visible_pairs(shape, {16384, 16384, {}}), 2'089'024);
}

TEST(Roofline, FlopsOfPublishedModels) {
  EXPECT_DOUBLE_EQ(32 * work_of(llama_8b(), {8192, 8192, {}}).flops, 17'594'333'528'064.0);
  const AttentionShape r1{.q_heads = 128, .kv_heads = 128, .head_dim_qk = 192, .head_dim_v = 128};
  EXPECT_NEAR(61 * work_of(r1, {4096, 4096, {}}).flops, 0.04193e15, 0.00001e15);
  EXPECT_NEAR(61 * work_of(r1, {131072, 131072, {}}).flops, 42.925e15, 0.001e15);
}

TEST(Roofline, DecodeIntensityIsTheGroupSizeInBf16) {
  const AttentionWork work = work_of(llama_8b(), {1, 131072, {}});
  EXPECT_DOUBLE_EQ(work.flops, 4.0 * 32 * 128 * 131072);
  EXPECT_DOUBLE_EQ(work.read_bytes, 2.0 * 8 * 128 * 2 * 131072 + 32 * 128 * 2);
  EXPECT_NEAR(work.flops / work.bytes(), 4.0, 0.001);
  EXPECT_NEAR(work_of(absorbed_mla(), {1, 131072, {}}).flops /
                  work_of(absorbed_mla(), {1, 131072, {}}).bytes(),
              242.0, 1.0);
}

TEST(Roofline, WindowsCutTheReads) {
  AttentionShape shape = llama_8b();
  shape.window_left = 1023;
  EXPECT_DOUBLE_EQ(work_of(shape, {1, 131072, {}}).bytes(),
                   work_of(llama_8b(), {1, 1024, {}}).bytes());
}

TEST(Roofline, StoredTypesCountAsStored) {
  AttentionShape shape = llama_8b();
  const double rows = 2.0 * 32 * 128 * 2;  // q and out of one token
  shape.kv_type = DType::i8;
  EXPECT_DOUBLE_EQ(work_of(shape, {1, 100, {}}).bytes(), rows + 2.0 * 8 * (128 + 4) * 100);
  shape.kv_type = DType::f8e4m3;
  EXPECT_DOUBLE_EQ(work_of(shape, {1, 100, {}}).bytes(), rows + 2.0 * 8 * 128 * 100);
  shape.q_type = DType::f8e4m3;  // out is bf16 then
  EXPECT_DOUBLE_EQ(work_of(shape, {1, 100, {}}).bytes(), 32 * 128 * 3.0 + 2.0 * 8 * 128 * 100);
}

TEST(Roofline, RequestsAddUp) {
  const std::array<RequestLengths, 3> step{{{7, 7, {}}, {1, 300, {}}, {0, 50, {}}}};
  const AttentionWork both = attention_work(llama_8b(), step);
  EXPECT_DOUBLE_EQ(both.flops,
                   work_of(llama_8b(), step[0]).flops + work_of(llama_8b(), step[1]).flops);
  EXPECT_DOUBLE_EQ(both.bytes(),
                   work_of(llama_8b(), step[0]).bytes() + work_of(llama_8b(), step[1]).bytes());
}

TEST(Roofline, TheLargerTimeBinds) {
  const AttentionWork work{.flops = 4e12, .read_bytes = 1e9, .written_bytes = 1e9};
  EXPECT_EQ(time_bound(work, 1e12, 1e9).limit(), Limit::compute);
  EXPECT_DOUBLE_EQ(time_bound(work, 1e12, 1e9).seconds(), 4.0);
  EXPECT_EQ(time_bound(work, 1e13, 1e9).limit(), Limit::bandwidth);
  EXPECT_DOUBLE_EQ(time_bound(work, 1e13, 1e9).seconds(), 2.0);
}

TEST(Roofline, FractionsAreOfTheLimitThatBinds) {
  HardwareLimits limits;
  limits.read_bytes_per_s = 1e9;
  limits.bf16 = {.measured = 1e12, .peak = 2e12};
  limits.f32 = {.measured = 1e11, .peak = {}};
  const AttentionWork products{.flops = 4e12, .read_bytes = 1e9, .written_bytes = 0};
  const LimitFraction bf16 = limit_fraction(products, limits, DType::bf16, 8.0);
  EXPECT_EQ(bf16.limit, Limit::compute);
  EXPECT_DOUBLE_EQ(bf16.of_measured, 0.5);
  EXPECT_DOUBLE_EQ(bf16.of_peak.value(), 0.25);
  EXPECT_FALSE(limit_fraction(products, limits, DType::f32, 80.0).of_peak);

  const AttentionWork traffic{.flops = 1e9, .read_bytes = 1e9, .written_bytes = 1e9};
  const LimitFraction read = limit_fraction(traffic, limits, DType::bf16, 4.0);
  EXPECT_EQ(read.limit, Limit::bandwidth);
  EXPECT_DOUBLE_EQ(read.of_measured, 0.5);
  EXPECT_FALSE(read.of_peak);
  limits.peak_read_bytes_per_s = 4e9;
  EXPECT_DOUBLE_EQ(limit_fraction(traffic, limits, DType::bf16, 4.0).of_peak.value(), 0.125);
}

}  // namespace
}  // namespace headwise
