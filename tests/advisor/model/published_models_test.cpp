#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/advisor/model/described_model.h"

namespace headwise {
namespace {

/// What is published of a model; 0: not compared.
struct Published {
  const char* model;
  std::int64_t layers, q_heads, kv_heads, head_dim;  ///< the first layer's that are not linear
  std::int64_t hidden, width;                        ///< of dense feed-forward
  std::int64_t experts, top_k, expert_width, context;
};

constexpr Published kPublished[] = {
    {"llama-3.1-8b", 32, 32, 8, 128, 4096, 14336, 0, 0, 0, 131072},
    {"llama-3.1-70b", 80, 64, 8, 128, 8192, 28672, 0, 0, 0, 131072},
    {"llama-3.1-405b", 126, 128, 8, 128, 16384, 53248, 0, 0, 0, 131072},
    {"qwen3-8b", 36, 32, 8, 128, 4096, 12288, 0, 0, 0, 40960},
    {"qwen3-32b", 64, 64, 8, 128, 5120, 25600, 0, 0, 0, 40960},
    {"qwen3-235b-a22b", 94, 64, 4, 128, 4096, 0, 128, 8, 1536, 40960},
    {"mistral-7b-v0.1", 32, 32, 8, 128, 4096, 14336, 0, 0, 0, 32768},
    {"mixtral-8x7b", 32, 32, 8, 128, 0, 0, 8, 2, 0, 32768},
    {"gemma-2-9b", 42, 16, 8, 256, 3584, 14336, 0, 0, 0, 8192},
    {"gemma-2-27b", 46, 32, 16, 128, 4608, 36864, 0, 0, 0, 8192},
    {"gemma-3-4b", 34, 8, 4, 256, 2560, 10240, 0, 0, 0, 0},
    {"gemma-3-12b", 48, 16, 8, 256, 3840, 15360, 0, 0, 0, 0},
    {"gemma-3-27b", 62, 32, 16, 128, 5376, 21504, 0, 0, 0, 0},
    {"gemma-4-26b", 30, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"deepseek-r1", 61, 128, 0, 192, 7168, 18432, 256, 8, 2048, 163840},
    {"deepseek-v3.2", 61, 128, 0, 192, 7168, 18432, 256, 8, 2048, 163840},
    {"kimi-k2", 61, 64, 0, 192, 0, 0, 384, 8, 0, 131072},
    {"gpt-oss-20b", 24, 64, 8, 64, 2880, 0, 32, 4, 2880, 131072},
    {"gpt-oss-120b", 36, 64, 8, 64, 2880, 0, 128, 4, 2880, 131072},
    {"llama-4-scout", 48, 40, 8, 128, 5120, 0, 16, 1, 8192, 10485760},
    {"llama-4-maverick", 48, 40, 8, 128, 5120, 16384, 128, 1, 8192, 1048576},
    {"qwen3-next-80b-a3b", 48, 16, 2, 256, 2048, 0, 512, 10, 512, 262144},
    {"kimi-linear-48b", 27, 32, 0, 192, 2304, 9216, 256, 8, 1024, 1048576},
    {"qwen3.5-397b-a17b", 60, 32, 2, 256, 4096, 0, 512, 10, 1024, 0},
    {"kimi-k3", 93, 96, 0, 192, 0, 0, 896, 0, 0, 0},
};

Published described_as(const char* name) {
  const ModelDescription model = described(name);
  Published of{};
  of.layers = model.layers();
  of.hidden = model.hidden;
  of.context = model.context;
  for (const auto& [count, layer] : model.groups) {
    const auto* softmax = std::get_if<SoftmaxAttention>(&layer.attention);
    if (softmax != nullptr && of.q_heads == 0) {
      of.q_heads = softmax->q_heads;
      of.kv_heads = softmax->kv_heads;
      of.head_dim = softmax->head_dim_qk;
    }
    if (const auto* latent = std::get_if<LatentAttention>(&layer.attention)) {
      of.q_heads = latent->q_heads;
      of.head_dim = latent->head_dim_qk();
    }
    if (const auto* dense = std::get_if<DenseFeedForward>(&layer.feed_forward))
      of.width = dense->width;
    if (const auto* moe = std::get_if<MixtureOfExperts>(&layer.feed_forward)) {
      of.experts = moe->experts;
      of.top_k = moe->top_k;
      of.expert_width = moe->expert_width;
    }
  }
  return of;
}

TEST(PublishedModels, AreDescribedAsPublished) {
  for (const Published& row : kPublished) {
    const Published of = described_as(row.model);
    for (const auto field :
         {&Published::layers, &Published::q_heads, &Published::kv_heads, &Published::head_dim,
          &Published::hidden, &Published::width, &Published::experts, &Published::top_k,
          &Published::expert_width, &Published::context})
      if (row.*field != 0) {
        EXPECT_EQ(of.*field, row.*field) << row.model;
      }
  }
}

TEST(PublishedModels, AreAllThatThereAreFilesOf) {
  std::set<std::string> rows, files;
  for (const Published& row : kPublished) rows.insert(row.model);
  for (const auto& entry : std::filesystem::directory_iterator(HEADWISE_CONFIGS))
    files.insert(entry.path().stem().string());
  EXPECT_EQ(rows, files);
}

}  // namespace
}  // namespace headwise
