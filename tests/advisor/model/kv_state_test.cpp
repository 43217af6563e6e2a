#include "advisor/model/kv_state.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/advisor/model/described_model.h"

namespace headwise {
namespace {

constexpr std::int64_t k32K = 32768;
constexpr std::int64_t k128K = 131072;

std::string in_gib(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(bytes) / (1 << 30));
  return text;
}

std::string in_mib(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / (1 << 20));
  return text;
}

struct Row {
  const char* model;
  std::int64_t growing;
  std::int64_t windowed;
  const char* gib_32k;
  const char* gib_128k;
  const char* naive_gib_128k = nullptr;
  const char* constant_mib = "0.0";
};

// BF16.
constexpr Row kRows[] = {
    {"llama-3.1-8b", 131072, 0, "4.000", "16.000", "16.000"},
    {"llama-3.1-70b", 327680, 0, "10.000", "40.000"},
    {"llama-3.1-405b", 516096, 0, "15.750", "63.000"},
    {"qwen3-8b", 147456, 0, "4.500", "18.000"},
    {"qwen3-32b", 262144, 0, "8.000", "32.000"},
    {"qwen3-235b-a22b", 192512, 0, "5.875", "23.500"},
    {"mistral-7b-v0.1", 0, 131072, "0.500", "0.500", "16.000"},
    {"mixtral-8x7b", 131072, 0, "4.000", "16.000"},
    {"gemma-2-9b", 172032, 172032, "5.906", "21.656"},
    {"gemma-2-27b", 188416, 188416, "6.469", "23.719"},
    {"gemma-3-4b", 5 * 4096, 29 * 4096, "0.738", "2.613"},
    {"gemma-3-12b", 65536, 327680, "2.312", "8.312", "48.000"},
    {"gemma-3-27b", 81920, 425984, "2.906", "10.406", "62.000"},
    {"deepseek-r1", 70272, 0, "2.145", "8.578", "610.000"},
    {"kimi-k2", 70272, 0, "2.145", "8.578"},
    {"gpt-oss-20b", 24576, 24576, "0.753", "3.003", "6.000"},
    {"gpt-oss-120b", 36864, 36864, "1.129", "4.504", "9.000"},
    {"qwen3-next-80b-a3b", 24576, 0, "0.822", "3.072", "12.000", "73.7"},
    {"kimi-linear-48b", 8064, 0, "0.287", "1.025", nullptr, "41.4"},
    {"qwen3.5-397b-a17b", 30720, 0, "1.116", "3.929", "15.000", "183.2"},
    {"llama-4-scout", 49152, 147456, "2.625", "7.125", "24.000"},
    {"llama-4-maverick", 49152, 147456, "2.625", "7.125", "24.000"},
};

// Of the next two little more than layers and spans was to be had beside the files themselves,
// whose fields count as given here: the arithmetic is layers x 2 Hkv d x 2 B, and MLA's and KDA's
// as above.
constexpr Row kRowsOfAssumedFiles[] = {
    {"gemma-4-26b", 5 * 4 * 2 * 512, 25 * 4 * 8 * 256, "0.820", "2.695", "27.500"},
    {"kimi-k3", 24 * 576 * 2, 0, "1.262", "3.794", nullptr, "428.6"},
};

void expect_state(const Row& row) {
  const ModelDescription model = described(row.model);
  const KvState state = kv_state(model, DType::bf16);
  EXPECT_EQ(state.growing_per_token, row.growing) << row.model;
  EXPECT_EQ(state.windowed_per_token, row.windowed) << row.model;
  EXPECT_EQ(in_mib(state.constant), row.constant_mib) << row.model;
  EXPECT_EQ(in_gib(kv_bytes(model, DType::bf16, k32K)), row.gib_32k) << row.model;
  EXPECT_EQ(in_gib(kv_bytes(model, DType::bf16, k128K)), row.gib_128k) << row.model;
  if (row.naive_gib_128k != nullptr) {
    EXPECT_EQ(in_gib(state.naive_per_token * k128K), row.naive_gib_128k) << row.model;
  }
}

TEST(KvState, OfPublishedModelsInBf16) {
  for (const Row& row : kRows) expect_state(row);
}

TEST(KvState, OfModelsWhoseFieldsAreTheFilesOwn) {
  for (const Row& row : kRowsOfAssumedFiles) expect_state(row);
}

TEST(KvState, OfR1IsItsLatentsNotItsHeads) {
  const KvState state = kv_state(described("deepseek-r1"), DType::bf16);
  EXPECT_EQ(state.growing_per_token, 61 * 576 * 2);
  EXPECT_EQ(state.naive_per_token, 4'997'120);
  EXPECT_EQ(state.naive_per_token / state.growing_per_token, 71);
}

TEST(KvState, OfAnIndexerIsAKeyMore) {
  EXPECT_EQ(kv_state(described("deepseek-v3.2"), DType::bf16).growing_per_token,
            61 * (576 + 128) * 2);
  EXPECT_EQ(kv_state(described("deepseek-v3.2"), DType::i8).growing_per_token,
            61 * (576 + 4 + 128 + 4));
}

TEST(KvState, OfLinearAttentionIsConstantWhateverTheCachesType) {
  const std::int64_t next = 36 * (32 * 128 * 128 * 4 + (32 * 128 + 2 * 16 * 128) * 3 * 2);
  const std::int64_t kimi = 20 * (32 * 128 * 128 * 4 + (32 * 128 + 2 * 32 * 128) * 3 * 2);
  for (const DType type : {DType::bf16, DType::f8e4m3, DType::i8}) {
    EXPECT_EQ(kv_state(described("qwen3-next-80b-a3b"), type).constant, next);
    EXPECT_EQ(kv_state(described("kimi-linear-48b"), type).constant, kimi);
    EXPECT_EQ(kv_state(described("kimi-k3"), type).constant,
              69 * (96 * 128 * 128 * 4 + 3 * 96 * 128 * 3 * 2));
  }
  EXPECT_EQ(kv_bytes(described("qwen3-next-80b-a3b"), DType::bf16, 0), next);
}

TEST(KvState, ElementsCountAsStoredAndInt8HasScales) {
  const ModelDescription llama = described("llama-3.1-8b");
  EXPECT_EQ(kv_state(llama, DType::f8e4m3).growing_per_token, 65536);
  EXPECT_EQ(kv_state(llama, DType::i8).growing_per_token, 32 * 8 * 2 * (128 + 4));
  EXPECT_EQ(kv_state(llama, DType::f32).growing_per_token, 262144);
  const ModelDescription r1 = described("deepseek-r1");
  EXPECT_EQ(kv_state(r1, DType::f8e4m3).growing_per_token, 61 * 576);
  EXPECT_EQ(kv_state(r1, DType::i8).growing_per_token, 61 * (576 + 4));
}

TEST(KvState, WindowsFillAndThenStay) {
  const ModelDescription gemma = described("gemma-3-12b");
  EXPECT_EQ(kv_bytes(gemma, DType::bf16, 0), 0);
  EXPECT_EQ(kv_bytes(gemma, DType::bf16, 1023), 1023 * 393216);
  EXPECT_EQ(kv_bytes(gemma, DType::bf16, 1024), 1024 * 393216);
  EXPECT_EQ(kv_bytes(gemma, DType::bf16, 1025), 1024 * 393216 + 65536);
  EXPECT_EQ(kept_tokens({SpanKind::chunked, 8192}, 10000), 8192);
}

}  // namespace
}  // namespace headwise
