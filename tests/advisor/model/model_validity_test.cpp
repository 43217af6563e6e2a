#include "advisor/model/model_validity.h"

#include <gtest/gtest.h>

#include <functional>

#include "advisor/model/model_layers.h"
#include "tests/advisor/model/described_model.h"

namespace headwise {
namespace {

template <class Kind>
std::string why(const char* name, const std::function<void(Kind&)>& change) {
  ModelDescription model = described(name);
  for (EqualLayers& group : model.groups) {
    if (auto* attention = std::get_if<Kind>(&group.layer.attention)) change(*attention);
  }
  return why_invalid(model);
}

TEST(ModelValidity, OfWhatReadersRead) {
  for (const auto& entry : std::filesystem::directory_iterator(HEADWISE_CONFIGS))
    EXPECT_EQ(why_invalid(described(entry.path().stem().string())), "");
}

TEST(ModelValidity, NamesWhatIsOutOfRange) {
  EXPECT_EQ(why<SoftmaxAttention>("qwen3-8b", [](auto& softmax) { softmax.kv_heads = 5; }),
            "q_heads 32 is no multiple of kv_heads 5");
  EXPECT_EQ(why<SoftmaxAttention>("qwen3-8b", [](auto& softmax) { softmax.kv_heads = 0; }),
            "kv_heads 0 is not from 1 to 1024");
  EXPECT_EQ(why<SoftmaxAttention>("qwen3-8b", [](auto& softmax) { softmax.span.tokens = 9; }),
            "window 9 is not from 0 to 0");
  EXPECT_EQ(why<LatentAttention>("deepseek-r1", [](auto& latent) { latent.kv_lora_rank = -1; }),
            "kv_lora_rank -1 is not from 1 to 16384");
  EXPECT_EQ(why<LatentAttention>("deepseek-v3.2", [](auto& latent) { latent.indexer->top_k = 0; }),
            "index_topk 0 is not from 1 to 134217728");
  EXPECT_EQ(why<LinearAttention>("qwen3-next-80b-a3b", [](auto& linear) { linear.k_heads = 3; }),
            "linear v_heads 32 is no multiple of k_heads 3");
  ModelDescription none = described("qwen3-8b");
  set_layers(none, {});
  EXPECT_EQ(why_invalid(none), "layers 0 is not from 1 to 1024");
}

// Equal layers are one group, wherever they stand.
TEST(ModelLayers, ComeTogetherAsTheyCameApart) {
  for (const auto& entry : std::filesystem::directory_iterator(HEADWISE_CONFIGS)) {
    const ModelDescription model = described(entry.path().stem().string());
    ModelDescription again = model;
    set_layers(again, layers_of(model));
    EXPECT_EQ(again.group_of_layer, model.group_of_layer);
    ASSERT_EQ(again.groups.size(), model.groups.size());
    for (std::size_t i = 0; i < model.groups.size(); ++i)
      EXPECT_EQ(again.groups[i].count, model.groups[i].count);
  }
}

}  // namespace
}  // namespace headwise
