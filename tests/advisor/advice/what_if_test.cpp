#include "advisor/advice/what_if.h"

#include <gtest/gtest.h>

#include "advisor/model/kv_state.h"
#include "advisor/model/model_layers.h"
#include "advisor/model/model_work.h"
#include "headwise/error.h"
#include "tests/advisor/model/described_model.h"

namespace headwise {
namespace {

Variant change(const ModelDescription& model, Parameter parameter, std::int64_t count) {
  return what_if(model, {}, count_variation(parameter, count));
}

const SoftmaxAttention& softmax(const ModelDescription& model, std::size_t layer) {
  const auto group = static_cast<std::size_t>(model.group_of_layer[layer]);
  return std::get<SoftmaxAttention>(model.groups[group].layer.attention);
}

std::vector<SpanKind> spans(const ModelDescription& model) {
  std::vector<SpanKind> kinds;
  for (std::size_t i = 0; i < model.group_of_layer.size(); ++i)
    kinds.push_back(softmax(model, i).span.kind);
  return kinds;
}

TEST(WhatIf, KvHeadsAndGroupsLeaveQueryHeads) {
  const ModelDescription llama = described("llama-3.1-8b");
  const Variant two = change(llama, Parameter::kv_heads, 2);
  EXPECT_EQ(two.why_not, "");
  EXPECT_EQ(softmax(two.model, 31), (SoftmaxAttention{32, 2, 128, 128, {}}));
  const Variant group = change(llama, Parameter::group_size, 16);
  EXPECT_TRUE(is_same(group, two.model, {}));
  EXPECT_EQ(kv_state(two.model, DType::bf16).growing_per_token * 4,
            kv_state(llama, DType::bf16).growing_per_token);
}

// As many weights, bytes of KV and FLOPs as before, half the heads.
TEST(WhatIf, HeadDimensionKeepsTheWidth) {
  const ModelDescription model = described("gpt-oss-120b");
  const Variant wide = change(model, Parameter::head_dim, 128);
  EXPECT_EQ(softmax(wide.model, 1), (SoftmaxAttention{32, 4, 128, 128, {}}));
  EXPECT_EQ(softmax(wide.model, 0).span, (AttentionSpan{SpanKind::sliding_window, 128}));
  EXPECT_EQ(count_parameters(wide.model).all.attention, count_parameters(model).all.attention);
  EXPECT_EQ(kv_bytes(wide.model, DType::bf16, 9999), kv_bytes(model, DType::bf16, 9999));
  EXPECT_EQ(core_attention_flops(wide.model, {.count = 9999}, LatentForm::expanded),
            core_attention_flops(model, {.count = 9999}, LatentForm::expanded));
}

// Half of one KV head is none: it grows, queries do not.
TEST(WhatIf, OneKvHeadStaysOne) {
  nlohmann::json config = config_json("gpt-oss-20b");
  config["num_key_value_heads"] = 1;
  const Variant wide = change(description_of(config), Parameter::head_dim, 128);
  EXPECT_EQ(wide.why_not, "");
  EXPECT_EQ(softmax(wide.model, 1), (SoftmaxAttention{32, 1, 128, 128, {}}));
}

TEST(WhatIf, WindowsChangeWhereThereAreAny) {
  const Variant gemma = change(described("gemma-3-27b"), Parameter::window, 512);
  EXPECT_EQ(softmax(gemma.model, 0).span.tokens, 512);
  EXPECT_EQ(softmax(gemma.model, 5).span.kind, SpanKind::full);
  const Variant llama = change(described("llama-3.1-8b"), Parameter::window, 512);
  EXPECT_EQ(softmax(llama.model, 7).span, (AttentionSpan{SpanKind::sliding_window, 512}));
  const Variant scout = change(described("llama-4-scout"), Parameter::window, 512);
  EXPECT_EQ(softmax(scout.model, 0).span, (AttentionSpan{SpanKind::chunked, 512}));
  const Variant none = change(described("mistral-7b-v0.1"), Parameter::window, 0);
  EXPECT_EQ(softmax(none.model, 0).span, AttentionSpan{});
}

TEST(WhatIf, FullEveryHasTheOthersAsTheModelHasThem) {
  const Variant llama = change(described("llama-3.1-8b"), Parameter::full_every, 4);
  const std::vector<SpanKind> kinds = spans(llama.model);
  for (std::size_t i = 0; i < kinds.size(); ++i)
    EXPECT_EQ(kinds[i], (i + 1) % 4 == 0 ? SpanKind::full : SpanKind::sliding_window) << i;
  EXPECT_EQ(softmax(llama.model, 0).span.tokens, kUsualWindow);

  const Variant next = change(described("qwen3-next-80b-a3b"), Parameter::full_every, 6);
  ASSERT_EQ(next.why_not, "");
  for (std::size_t i = 0; i < 48; ++i) {
    const auto group = static_cast<std::size_t>(next.model.group_of_layer[i]);
    EXPECT_EQ(std::holds_alternative<LinearAttention>(next.model.groups[group].layer.attention),
              (i + 1) % 6 != 0);
  }
  const Variant all = change(described("gemma-3-27b"), Parameter::full_every, 1);
  EXPECT_EQ(all.model.groups.size(), 1U);
  EXPECT_EQ(softmax(all.model, 0).span, AttentionSpan{});
}

TEST(WhatIf, FeedForwardStaysWhereItIs) {
  const ModelDescription model = described("llama-4-maverick");
  const Variant variant = change(model, Parameter::full_every, 3);
  ASSERT_EQ(variant.why_not, "");
  const auto before = layers_of(model), after = layers_of(variant.model);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(before[i].feed_forward, after[i].feed_forward) << i;
}

TEST(WhatIf, RankAndCacheFormat) {
  const ModelDescription r1 = described("deepseek-r1");
  const Variant rank = change(r1, Parameter::mla_rank, 256);
  EXPECT_EQ(kv_state(rank.model, DType::bf16).growing_per_token, 61 * (256 + 64) * 2);
  const Variant f8 = what_if(r1, {}, type_variation(DType::f8e4m3));
  EXPECT_EQ(f8.deployment.kv_type, DType::f8e4m3);
  EXPECT_FALSE(is_same(f8, r1, {}));
}

// The value that a model has gives the model.
TEST(WhatIf, ItsOwnValueChangesNothing) {
  const auto expect_same = [](const char* name, Parameter parameter, std::int64_t count) {
    const ModelDescription model = described(name);
    EXPECT_TRUE(is_same(change(model, parameter, count), model, {})) << name;
  };
  expect_same("llama-3.1-8b", Parameter::kv_heads, 8);
  expect_same("llama-3.1-8b", Parameter::group_size, 4);
  expect_same("llama-3.1-8b", Parameter::full_every, 1);
  expect_same("qwen3-32b", Parameter::head_dim, 128);
  expect_same("mistral-7b-v0.1", Parameter::window, 4096);
  for (const char* six : {"gemma-3-4b", "gemma-3-12b", "gemma-3-27b"})
    expect_same(six, Parameter::full_every, 6);
  for (const char* two : {"gpt-oss-20b", "gpt-oss-120b", "gemma-2-9b", "gemma-2-27b"})
    expect_same(two, Parameter::full_every, 2);
  for (const char* four : {"qwen3-next-80b-a3b", "llama-4-scout", "qwen3.5-397b-a17b"})
    expect_same(four, Parameter::full_every, 4);
  expect_same("deepseek-r1", Parameter::mla_rank, 512);
  EXPECT_TRUE(is_same(what_if(described("kimi-k2"), {}, type_variation(DType::bf16)),
                      described("kimi-k2"), {}));
}

TEST(WhatIf, SaysWhyThereIsNoSuchModel) {
  struct Case {
    const char* name;
    Parameter parameter;
    std::int64_t count;
    const char* why;
  };
  const Case cases[] = {
      {"llama-3.1-8b", Parameter::kv_heads, 5, "q_heads 32 is no multiple of kv_heads 5"},
      {"llama-3.1-8b", Parameter::kv_heads, 64, "q_heads 32 is no multiple of kv_heads 64"},
      {"llama-3.1-8b", Parameter::kv_heads, 4096, "kv_heads 4096 is not from 1 to 1024"},
      {"llama-3.1-8b", Parameter::group_size, 5, "q_heads 32 is no multiple of group_size 5"},
      {"llama-3.1-8b", Parameter::group_size, 64, "q_heads 32 is no multiple of group_size 64"},
      {"llama-3.1-8b", Parameter::head_dim, 100, "kv_heads 8 of 128 make no whole heads of 100"},
      {"llama-3.1-8b", Parameter::head_dim, 1, "q_heads 4096 is not from 1 to 1024"},
      {"llama-3.1-8b", Parameter::window, 1 << 30, "window 1073741824 is not from 1 to 134217728"},
      {"llama-3.1-8b", Parameter::full_every, 33, "full_every 33 leaves none of 32 layers full"},
      {"llama-3.1-8b", Parameter::mla_rank, 512, "no layer has MLA"},
      {"deepseek-r1", Parameter::kv_heads, 8, "no layer has KV heads"},
      {"deepseek-r1", Parameter::group_size, 8, "no layer has KV heads"},
      {"deepseek-r1", Parameter::head_dim, 128, "no layer has KV heads"},
      {"deepseek-r1", Parameter::window, 128, "no layer could have a window"},
      {"deepseek-r1", Parameter::full_every, 2, "MLA has no window, and no layer is linear"},
      {"deepseek-r1", Parameter::mla_rank, 1 << 20, "kv_lora_rank 1048576 is not from 1 to 16384"},
  };
  for (const auto& [name, parameter, count, why] : cases)
    EXPECT_EQ(change(described(name), parameter, count).why_not, why) << name;
  const Deployment tp8{.tp = 8, .tp_ff = 8};
  EXPECT_EQ(
      what_if(described("gemma-3-27b"), tp8, count_variation(Parameter::head_dim, 1024)).why_not,
      "tp 8 does not divide 4 query heads");
}

// Any value of any parameter of any model: a valid model, or a reason.
TEST(WhatIf, NoValueCrashes) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1;
  for (const auto& entry : std::filesystem::directory_iterator(HEADWISE_CONFIGS)) {
    const ModelDescription model = described(entry.path().stem().string());
    for (const Parameter parameter :
         {Parameter::kv_heads, Parameter::group_size, Parameter::head_dim, Parameter::window,
          Parameter::full_every, Parameter::mla_rank})
      for (const std::int64_t count :
           {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{7}, std::int64_t{64},
            std::int64_t{1000}, std::int64_t{1} << 20, kMost}) {
        const Variant variant = change(model, parameter, count);
        EXPECT_TRUE(!variant.why_not.empty() || variant.model.layers() == model.layers());
      }
  }
}

TEST(Variations, AreReadStrictly) {
  EXPECT_EQ(parse_variation(Parameter::window, "4k").count, 4096);
  EXPECT_EQ(parse_variation(Parameter::window, "1m").count, 1 << 20);
  EXPECT_EQ(parse_variation(Parameter::window, "full").count, 0);
  EXPECT_EQ(parse_variation(Parameter::kv_heads, "8").count, 8);
  EXPECT_EQ(parse_variation(Parameter::kv_type, "f8").type, DType::f8e4m3);
  for (const char* text : {"", " ", "0", "-1", "+1", "1.5", "1e3", "0x10", "8 ", " 8", "eight",
                           "2147483648", "99999999999999999999", "8k", "full", "\xff", "8;9"})
    EXPECT_THROW(parse_variation(Parameter::kv_heads, text), Error) << text;
  for (const char* text : {"k", "4kk", "k4", "4g", "Full", "3000000k", "0", "-4k"})
    EXPECT_THROW(parse_variation(Parameter::window, text), Error) << text;
  for (const char* text : {"", "f9", "BF16", "8", "nvfp4"})
    EXPECT_THROW(parse_variation(Parameter::kv_type, text), Error) << text;
}

}  // namespace
}  // namespace headwise
