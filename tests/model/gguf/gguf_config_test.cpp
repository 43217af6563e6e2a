#include "model/gguf/gguf_config.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/gguf/gguf.h"
#include "model/rope_frequencies.h"
#include "tests/model/error_of.h"
#include "tests/model/tiny_model.h"

namespace headwise {
namespace {

ModelConfig read(const GgufWriter& writer) {
  const std::string bytes = writer.text();
  return read_gguf_config(GgufFile(std::as_bytes(std::span(bytes)), "file"));
}

void expect_refused(const GgufWriter& writer, const std::string& message) {
  EXPECT_EQ(error_of([&] { read(writer); }), "file: " + message);
}

TEST(GgufConfig, ReadsEveryField) {
  const ModelConfig config = read(tiny_llama().f32("llama.rope.freq_base", 50000.0F));
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.width, 8);
  EXPECT_EQ(config.ffn_width, 16);
  EXPECT_EQ(config.q_heads, 4);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.head_dim, 2);
  EXPECT_EQ(config.vocab, 10);
  EXPECT_EQ(config.context, 64);
  EXPECT_EQ(config.rms_eps, 1e-5F);
  EXPECT_EQ(config.attention_scale, std::sqrt(0.5F));
  EXPECT_EQ(config.embedding_scale, 1.0F);
  EXPECT_EQ(config.norm_offset, 0.0F);
  EXPECT_EQ(config.activation, Activation::silu);
  EXPECT_EQ(config.rope_pairs, RopePairs::neighbours);
  EXPECT_FALSE(config.qkv_bias || config.qk_norm || config.post_norms);
  EXPECT_TRUE(config.tied_output);
  ASSERT_EQ(config.kinds.size(), 1U);
  EXPECT_EQ(config.kinds[0].window, 0);
  EXPECT_EQ(config.kinds[0].rope.base, 50000.0);
  EXPECT_EQ(config.kinds[0].rope.frequencies, std::vector<double>{1.0});
  EXPECT_EQ(config.kind_of_layer, (std::vector<int>{0, 0}));
}

TEST(GgufConfig, HeadDimensionNeedNotBeWidthByHeads) {
  const ModelConfig config = read(tiny_llama()
                                      .u32("llama.attention.key_length", 6)
                                      .u32("llama.attention.value_length", 6)
                                      .u32("llama.rope.dimension_count", 6));
  EXPECT_EQ(config.head_dim, 6);
  EXPECT_EQ(config.kinds[0].rope.base, 10000.0);
  EXPECT_EQ(config.kinds[0].rope.frequencies.size(), 3U);
}

TEST(GgufConfig, AnOutputTensorIsNotTied) {
  EXPECT_FALSE(
      read(tiny_llama().tensor("output.weight", {8, 10}, 0, std::string(320, '\0'))).tied_output);
}

TEST(GgufConfig, MistralHasAWindowInEveryLayer) {
  const ModelConfig config = read(tiny_llama().u32("llama.attention.sliding_window", 16));
  ASSERT_EQ(config.kinds.size(), 1U);
  EXPECT_EQ(config.kinds[0].window, 16);
  EXPECT_EQ(config.kind_of_layer, (std::vector<int>{0, 0}));
}

TEST(GgufConfig, Qwen2HasBiasesAndQwen3Norms) {
  const ModelConfig qwen2 = read(tiny_model("qwen2"));
  EXPECT_TRUE(qwen2.qkv_bias);
  EXPECT_FALSE(qwen2.qk_norm);
  EXPECT_EQ(qwen2.rope_pairs, RopePairs::halves);
  const ModelConfig qwen3 = read(tiny_model("qwen3").u32("qwen3.attention.key_length", 16));
  EXPECT_FALSE(qwen3.qkv_bias);
  EXPECT_TRUE(qwen3.qk_norm);
  EXPECT_EQ(qwen3.head_dim, 16);
  EXPECT_EQ(qwen3.attention_scale, 0.25F);
}

TEST(GgufConfig, LlamaMayHaveBiases) {
  EXPECT_TRUE(
      read(tiny_llama().tensor("blk.0.attn_q.bias", {8}, 0, std::string(32, '\0'))).qkv_bias);
}

GgufWriter tiny_gemma3(std::uint32_t layers) {
  GgufWriter writer = tiny_model("gemma3", "gemma3.block_count");
  return writer.u32("gemma3.block_count", layers)
      .u32("gemma3.attention.key_length", 16)
      .u32("gemma3.attention.value_length", 16)
      .u32("gemma3.attention.sliding_window", 512)
      .f32("gemma3.rope.freq_base", 1e6F);
}

TEST(GgufConfig, Gemma3IsWindowedButForEverySixthLayer) {
  const ModelConfig config = read(tiny_gemma3(7));
  EXPECT_EQ(config.activation, Activation::gelu_tanh);
  EXPECT_EQ(config.rope_pairs, RopePairs::halves);
  EXPECT_TRUE(config.qk_norm && config.post_norms);
  EXPECT_FALSE(config.qkv_bias);
  EXPECT_EQ(config.embedding_scale, std::sqrt(8.0F));
  EXPECT_EQ(config.norm_offset, 0.0F);
  EXPECT_EQ(config.attention_scale, 0.25F);
  ASSERT_EQ(config.kinds.size(), 2U);
  EXPECT_EQ(config.kinds[0].window, 512);
  EXPECT_EQ(config.kinds[0].rope.base, 10000.0);
  EXPECT_EQ(config.kinds[1].window, 0);
  EXPECT_EQ(config.kinds[1].rope.base, 1e6);
  EXPECT_EQ(config.kind_of_layer, (std::vector<int>{0, 0, 0, 0, 0, 1, 0}));
}

TEST(GgufConfig, Gemma3MaySayMore) {
  const ModelConfig stretched = read(tiny_gemma3(2)
                                         .string("gemma3.rope.scaling.type", "linear")
                                         .f32("gemma3.rope.scaling.factor", 8.0F)
                                         .f32("gemma3.rope.freq_base_swa", 5000.0F)
                                         .u32("gemma3.attention.sliding_window_pattern", 2));
  ASSERT_EQ(stretched.kinds.size(), 2U);
  EXPECT_EQ(stretched.kinds[0].rope.base, 5000.0);
  EXPECT_EQ(stretched.kinds[0].rope.scaling, "");
  EXPECT_EQ(stretched.kinds[1].rope.scaling, "linear x8");
  EXPECT_EQ(stretched.kind_of_layer, (std::vector<int>{0, 1}));
  const ModelConfig listed =
      read(tiny_gemma3(2).booleans("gemma3.attention.sliding_window_pattern", {false, true}));
  EXPECT_EQ(listed.kind_of_layer, (std::vector<int>{1, 0}));
  EXPECT_EQ(read(tiny_gemma3(2).f32("gemma3.attention.scale", 0.125F)).attention_scale, 0.125F);
}

TEST(GgufConfig, Gemma3Of27BScalesQueriesByWidthAndHeads) {
  EXPECT_EQ(read(tiny_gemma3(62)).attention_scale, std::sqrt(0.5F));  // width 8, 4 heads
}

TEST(GgufConfig, StretchedRotaryPositions) {
  const auto scaled = [](const char* type) {
    return tiny_llama()
        .u32("llama.attention.key_length", 8)
        .string("llama.rope.scaling.type", type)
        .key("llama.rope.scaling.finetuned", 7, Bytes().number<std::uint8_t>(1));
  };
  EXPECT_EQ(read(scaled("none")).kinds[0].rope.frequencies, plain_rope(10000.0, 8).frequencies);
  EXPECT_EQ(read(scaled("linear").f32("llama.rope.scaling.factor", 4.0F)).kinds[0].rope.frequencies,
            linear_rope(10000.0, 8, 4.0).frequencies);
  EXPECT_EQ(read(tiny_llama().f32("llama.rope.scaling.factor", 4.0F)).kinds[0].rope.scaling,
            "linear x4");
  const RopeConfig yarn = read(scaled("yarn")
                                   .f32("llama.rope.scaling.factor", 4.0F)
                                   .u32("llama.rope.scaling.original_context_length", 4096)
                                   .f32("llama.rope.scaling.yarn_beta_fast", 16.0F))
                              .kinds[0]
                              .rope;
  const YarnScaling expected{.factor = 4.0, .original_context = 4096.0, .beta_fast = 16.0};
  EXPECT_EQ(yarn.frequencies, yarn_rope(10000.0, 8, expected).frequencies);
  EXPECT_EQ(yarn.magnitude, 0.1 * std::log(4.0) + 1.0);
  const std::string eight = Bytes().number(8.0F).text();
  EXPECT_EQ(read(tiny_llama().tensor("rope_freqs.weight", {1}, 0, eight)).kinds[0].rope.frequencies,
            std::vector<double>{0.125});
}

GgufWriter llama_with(const std::string& key, std::uint32_t value) {
  GgufWriter writer = tiny_llama_without(key);
  return writer.u32(key, value);
}

TEST(GgufConfig, RefusesArchitecturesAndKeysByName) {
  expect_refused(GgufWriter(), "key 'general.architecture' is missing");
  expect_refused(GgufWriter().string("general.architecture", "gemma2"),
                 "architecture 'gemma2' is not supported: llama, mistral, qwen2, qwen3 and gemma3 "
                 "are");
  expect_refused(GgufWriter().string("general.architecture", "mistral"),
                 "architecture 'mistral' is not one of GGUF: llama stands for it");
  expect_refused(tiny_llama().u32("split.count", 3),
                 "key 'split.count' is 3: a model in several GGUF files is not supported");
  EXPECT_EQ(error_of([] { read(tiny_llama().u32("split.count", 1)); }), "");
  expect_refused(tiny_llama().u32("llama.expert_count", 8),
                 "key 'llama.expert_count' is not supported");
  expect_refused(tiny_model("qwen2").u32("qwen2.attention.sliding_window", 8),
                 "key 'qwen2.attention.sliding_window' is not supported");
  expect_refused(tiny_llama().string("llama.rope.scaling.type", "longrope"),
                 "key 'llama.rope.scaling.type' is 'longrope': none, linear and yarn are "
                 "supported");
  expect_refused(tiny_llama()
                     .string("llama.rope.scaling.type", "none")
                     .f32("llama.rope.scaling.attn_factor", 2.0F),
                 "key 'llama.rope.scaling.attn_factor' is not supported");
  expect_refused(tiny_llama().f32("llama.rope.scaling.factor", 0.5F),
                 "key 'llama.rope.scaling.factor' is out of range: 0.5");
  expect_refused(tiny_gemma3(2).f32("gemma3.final_logit_softcapping", 30.0F),
                 "key 'gemma3.final_logit_softcapping' is not supported");
  expect_refused(tiny_gemma3(2).booleans("gemma3.attention.sliding_window_pattern", {true}),
                 "key 'gemma3.attention.sliding_window_pattern' has 1 values for 2 layers");
  expect_refused(tiny_model("gemma3"), "key 'gemma3.rope.freq_base' is missing");
}

TEST(GgufConfig, RefusesNumbersByName) {
  expect_refused(tiny_llama_without("llama.block_count"), "key 'llama.block_count' is missing");
  expect_refused(llama_with("llama.block_count", 0), "key 'llama.block_count' is out of range: 0");
  expect_refused(llama_with("llama.block_count", 20000),
                 "key 'llama.block_count' is out of range: 20000");
  expect_refused(llama_with("llama.embedding_length", 3000000000U),
                 "key 'llama.embedding_length' is out of range: 3000000000");
  expect_refused(llama_with("llama.attention.head_count_kv", 3),
                 "llama.attention.head_count 4 is not a multiple of llama.attention.head_count_kv "
                 "3");
  expect_refused(llama_with("llama.embedding_length", 10),
                 "llama.embedding_length 10 is not a multiple of llama.attention.head_count 4");
  expect_refused(llama_with("llama.embedding_length", 12), "the head dimension 3 is odd");
  expect_refused(llama_with("llama.embedding_length", 1U << 20),
                 "the head dimension 262144 is out of range");
  expect_refused(tiny_llama().u32("llama.attention.value_length", 4),
                 "key 'llama.attention.value_length' is 4: other than the head dimension 2 is not "
                 "supported");
  for (const float base : {-1.0F, 1.0F, INFINITY, NAN}) {
    EXPECT_TRUE(error_of([&] {
                  read(tiny_llama().f32("llama.rope.freq_base", base));
                }).starts_with("file: key 'llama.rope.freq_base' is out of range: "));
  }
  expect_refused(tiny_llama().u32("llama.rope.freq_base", 10000),
                 "key 'llama.rope.freq_base' is not a floating-point number");
}

TEST(GgufConfig, RefusesTensorsThatDoNotFit) {
  expect_refused(tiny_llama().tensor("rope_freqs.weight", {2}, 0, "12345678"),
                 "tensor 'rope_freqs.weight' is 2, not 1");
  expect_refused(tiny_llama().tensor("rope_freqs.weight", {1}, 0, std::string(4, '\0')),
                 "tensor 'rope_freqs.weight': frequency factor 0 is out of range: 0");
  expect_refused(tiny_llama()
                     .string("llama.rope.scaling.type", "yarn")
                     .f32("llama.rope.scaling.factor", 2.0F)
                     .tensor("rope_freqs.weight", {1}, 0, "1234"),
                 "tensor 'rope_freqs.weight' beside yarn is not supported");
  expect_refused(llama_with("llama.embedding_length", 16),
                 "tensor 'token_embd.weight' is 8 x 10, not 16 x 10");
  expect_refused(tiny_llama().u32("llama.vocab_size", 11),
                 "tensor 'token_embd.weight' is 8 x 10, not 8 x 11");
}

}  // namespace
}  // namespace headwise
