#include "model/llama_config.h"

#include <gtest/gtest.h>

#include "model/gguf.h"
#include "tests/model/error_of.h"
#include "tests/model/tiny_model.h"

namespace headwise {
namespace {

std::string error_behind_path(const GgufWriter& writer) {
  const TemporaryFile bytes(writer.text());
  const std::string error = error_of([&] { read_llama_config(GgufFile(bytes.path())); });
  const std::string path = bytes.path().string() + ": ";
  return error.starts_with(path) ? error.substr(path.size()) : "no path in: " + error;
}

LlamaConfig read(const GgufWriter& writer) {
  return read_llama_config(GgufFile(TemporaryFile(writer.text()).path()));
}

TEST(LlamaConfig, ReadsEveryField) {
  const LlamaConfig config = read(tiny_llama().f32("llama.rope.freq_base", 50000.0F));
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.width, 8);
  EXPECT_EQ(config.ffn_width, 16);
  EXPECT_EQ(config.q_heads, 4);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.head_dim, 2);
  EXPECT_EQ(config.vocab, 10);
  EXPECT_EQ(config.context, 64);
  EXPECT_EQ(config.rope_base, 50000.0);
  EXPECT_EQ(config.rms_eps, 1e-5F);
  EXPECT_TRUE(config.tied_output);
}

TEST(LlamaConfig, HeadDimensionNeedNotBeWidthByHeads) {
  const LlamaConfig config = read(tiny_llama()
                                      .u32("llama.attention.key_length", 6)
                                      .u32("llama.attention.value_length", 6)
                                      .u32("llama.rope.dimension_count", 6));
  EXPECT_EQ(config.head_dim, 6);
  EXPECT_EQ(config.rope_base, 10000.0);
}

TEST(LlamaConfig, AnOutputTensorIsNotTied) {
  EXPECT_FALSE(
      read(tiny_llama().tensor("output.weight", {8, 10}, 0, std::string(320, '\0'))).tied_output);
}

GgufWriter llama_with(const std::string& key, std::uint32_t value) {
  GgufWriter writer = tiny_llama_without(key);
  return writer.u32(key, value);
}

TEST(LlamaConfig, RefusesByName) {
  const auto refused = [](const GgufWriter& writer, const std::string& message) {
    EXPECT_EQ(error_behind_path(writer), message);
  };
  refused(GgufWriter(), "key 'general.architecture' is missing");
  refused(GgufWriter().string("general.architecture", "gemma3"),
          "architecture 'gemma3' is not supported: llama is");
  refused(tiny_llama().u32("llama.expert_count", 8), "key 'llama.expert_count' is not supported");
  refused(tiny_llama().string("llama.rope.scaling.type", "yarn"),
          "key 'llama.rope.scaling.type' is not supported");
  refused(tiny_llama_without("llama.block_count"), "key 'llama.block_count' is missing");
  refused(llama_with("llama.block_count", 0), "key 'llama.block_count' is out of range: 0");
  refused(llama_with("llama.embedding_length", 3000000000U),
          "key 'llama.embedding_length' is out of range: 3000000000");
  refused(llama_with("llama.attention.head_count_kv", 3),
          "llama.attention.head_count 4 is not a multiple of llama.attention.head_count_kv 3");
  refused(llama_with("llama.embedding_length", 10),
          "llama.embedding_length 10 is not a multiple of llama.attention.head_count 4");
  refused(llama_with("llama.embedding_length", 12), "the head dimension 3 is odd");
  refused(tiny_llama().u32("llama.attention.value_length", 4),
          "key 'llama.attention.value_length' is 4: other than the head dimension 2 is not "
          "supported");
  refused(tiny_llama().f32("llama.rope.freq_base", -1.0F),
          "key 'llama.rope.freq_base' is out of range: -1");
  refused(tiny_llama().u32("llama.rope.freq_base", 10000),
          "key 'llama.rope.freq_base' is not a floating-point number");
  refused(tiny_llama().tensor("rope_freqs.weight", {1}, 0, "1234"),
          "tensor 'rope_freqs.weight' (scaled rotary frequencies) is not supported");
  refused(llama_with("llama.embedding_length", 16),
          "tensor 'token_embd.weight' is 8 x 10, not 16 x 10");
  refused(tiny_llama().u32("llama.vocab_size", 11),
          "tensor 'token_embd.weight' is 8 x 10, not 8 x 11");
}

}  // namespace
}  // namespace headwise
