#include "headwise/kv_memory.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "headwise/error.h"

namespace headwise {
namespace {

constexpr std::int64_t kKi = 1024;
constexpr double kGiB = 1024.0 * 1024 * 1024;

LayerGroup dense_layers(int layers, int q_heads, int kv_heads, int dim, int window = 0) {
  LayerGroup group{
      .shape = {.q_heads = q_heads, .kv_heads = kv_heads, .head_dim_qk = dim, .head_dim_v = dim},
      .layers = layers};
  if (window > 0) group.shape.window_left = window - 1;
  return group;
}

LayerGroup mla_layers(int layers, int heads) {
  return {.shape = {.q_heads = heads,
                    .kv_heads = 1,
                    .head_dim_qk = 576,
                    .head_dim_v = 512,
                    .v_is_k_prefix = true},
          .layers = layers};
}

/// Bytes a token and GiB of published configurations in BF16, by arithmetic of their own.
struct Model {
  const char* name;
  std::vector<LayerGroup> groups;
  std::int64_t growing, windowed;  // bytes a token
  double gib_32k, gib_128k;
};

const Model kModels[] = {
    {"Llama-3.1-8B", {dense_layers(32, 32, 8, 128)}, 131072, 0, 4, 16},
    {"Llama-3.1-70B", {dense_layers(80, 64, 8, 128)}, 327680, 0, 10, 40},
    {"Llama-3.1-405B", {dense_layers(126, 128, 8, 128)}, 516096, 0, 15.75, 63},
    {"Qwen3-8B", {dense_layers(36, 32, 8, 128)}, 147456, 0, 4.5, 18},
    {"Qwen3-32B", {dense_layers(64, 64, 8, 128)}, 262144, 0, 8, 32},
    {"Qwen3-235B-A22B", {dense_layers(94, 64, 4, 128)}, 192512, 0, 5.875, 23.5},
    {"Mistral-7B-v0.1", {dense_layers(32, 32, 8, 128, 4096)}, 0, 131072, 0.5, 0.5},
    {"Gemma-2-9B",
     {dense_layers(21, 16, 8, 256), dense_layers(21, 16, 8, 256, 4096)},
     172032,
     172032,
     5.906,
     21.656},
    {"Gemma-3-12B",
     {dense_layers(8, 16, 8, 256), dense_layers(40, 16, 8, 256, 1024)},
     65536,
     327680,
     2.3125,
     8.3125},
    {"Gemma-3-27B",
     {dense_layers(10, 32, 16, 128), dense_layers(52, 32, 16, 128, 1024)},
     81920,
     425984,
     2.906,
     10.406},
    {"DeepSeek-R1", {mla_layers(61, 128)}, 70272, 0, 2.145, 8.578},
    {"gpt-oss-20b",
     {dense_layers(12, 64, 8, 64), dense_layers(12, 64, 8, 64, 128)},
     24576,
     24576,
     0.753,
     3.003},
    {"gpt-oss-120b",
     {dense_layers(18, 64, 8, 64), dense_layers(18, 64, 8, 64, 128)},
     36864,
     36864,
     1.129,
     4.504},
};

TEST(KvMemory, EqualsWhatModelsAreKnownToTake) {
  for (const Model& model : kModels) {
    std::int64_t growing = 0;
    std::int64_t windowed = 0;
    for (const LayerGroup& group : model.groups)
      (group.shape.window_left < 0 ? growing : windowed) += kv_bytes_per_token(group);
    EXPECT_EQ(growing, model.growing) << model.name;
    EXPECT_EQ(windowed, model.windowed) << model.name;
    EXPECT_NEAR(theoretical_kv_bytes(model.groups, 32 * kKi) / kGiB, model.gib_32k, 6e-4)
        << model.name;
    EXPECT_NEAR(theoretical_kv_bytes(model.groups, 128 * kKi) / kGiB, model.gib_128k, 6e-4)
        << model.name;
  }
}

TEST(KvMemory, EightBitFormatsHaveTheirScales) {
  LayerGroup group = dense_layers(3, 4, 2, 8);
  group.shape.kv_type = DType::f8e4m3;
  EXPECT_EQ(kv_bytes_per_token(group), 3 * 2 * (8 + 8));
  group.shape.kv_type = DType::i8;
  EXPECT_EQ(kv_bytes_per_token(group), 3 * 2 * (8 + 8 + 2 * 4));
  LayerGroup mla = mla_layers(2, 4);
  mla.shape.kv_type = DType::i8;
  EXPECT_EQ(kv_bytes_per_token(mla), 2 * (576 + 4));
}

TEST(KvMemory, PagesAreWholeAndFollowTheWindow) {
  const std::vector<LayerGroup> full = {dense_layers(1, 1, 1, 8)};       // 32 bytes a token
  const std::vector<LayerGroup> window = {dense_layers(1, 1, 1, 8, 5)};  // reaches back 4 tokens
  EXPECT_EQ(allocated_kv_bytes(full, 0, 16), 0);
  EXPECT_EQ(allocated_kv_bytes(full, 1, 16), 16 * 32);
  EXPECT_EQ(allocated_kv_bytes(full, 33, 16), 3 * 16 * 32);
  EXPECT_EQ(allocated_kv_bytes(window, 20, 16), 16 * 32);      // tokens 16 ... 19
  EXPECT_EQ(allocated_kv_bytes(window, 33, 16), 2 * 16 * 32);  // tokens 29 ... 32
  EXPECT_EQ(theoretical_kv_bytes(window, 33), 5 * 32);         // with the newest token
}

TEST(KvMemory, RefusesWhatIsOutOfRange) {
  const std::vector<LayerGroup> groups = {dense_layers(1, 1, 1, 8)};
  EXPECT_THROW(theoretical_kv_bytes(groups, -1), Error);
  EXPECT_THROW(allocated_kv_bytes(groups, 1, 0), Error);
  EXPECT_THROW(allocated_kv_bytes(groups, std::numeric_limits<std::int64_t>::max(), 1), Error);
  EXPECT_THROW(kv_bytes_per_token(dense_layers(0, 1, 1, 8)), Error);
  const std::vector<LayerGroup> twice = {groups[0], groups[0]};  // neither alone passes 2^63
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 32;
  EXPECT_NO_THROW(theoretical_kv_bytes(groups, most));
  EXPECT_THROW(theoretical_kv_bytes(twice, most), Error);
  EXPECT_THROW(allocated_kv_bytes(twice, most, 1), Error);
}

}  // namespace
}  // namespace headwise
