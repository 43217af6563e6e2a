#include "model/model_file.h"

#include <gtest/gtest.h>

#include "model/gguf/gguf.h"
#include "model/hugging_face/hf_names.h"
#include "tests/model/error_of.h"
#include "tests/model/hf_writer.h"
#include "tests/model/model_file.h"
#include "tests/model/tiny_model.h"

namespace headwise {
namespace {

using Json = nlohmann::json;

std::string zeros(std::size_t count) { return std::string(4 * count, '\0'); }

/// tiny_llama with all of its tensors.
std::string whole_gguf() {
  GgufWriter writer = tiny_llama();
  writer.tensor("output_norm.weight", {8}, 0, zeros(8));
  for (int layer = 0; layer < 2; ++layer) {
    const std::string prefix = concat("blk.", layer, ".");
    writer.tensor(prefix + "attn_norm.weight", {8}, 0, zeros(8))
        .tensor(prefix + "attn_q.weight", {8, 8}, 0, zeros(64))
        .tensor(prefix + "attn_k.weight", {8, 4}, 0, zeros(32))
        .tensor(prefix + "attn_v.weight", {8, 4}, 0, zeros(32))
        .tensor(prefix + "attn_output.weight", {8, 8}, 0, zeros(64))
        .tensor(prefix + "ffn_norm.weight", {8}, 0, zeros(8))
        .tensor(prefix + "ffn_gate.weight", {8, 16}, 0, zeros(128))
        .tensor(prefix + "ffn_up.weight", {8, 16}, 0, zeros(128))
        .tensor(prefix + "ffn_down.weight", {16, 8}, 0, zeros(128));
  }
  return writer.text();
}

TEST(ModelFile, OpensGguf) {
  const TemporaryFile bytes(whole_gguf());
  const ModelFile file = ModelFile(bytes.path());
  EXPECT_EQ(file.path(), bytes.path());
  EXPECT_EQ(file.config().layers, 2);
  ASSERT_NE(file.gguf(), nullptr);
  EXPECT_EQ(file.gguf()->metadata().string("general.architecture"), "llama");
  EXPECT_TRUE(file.folder().empty());
  EXPECT_TRUE(file.has_weights());
  EXPECT_EQ(file.tensors().size(), 20U);
  EXPECT_TRUE(file.has_tensor("blk.1.ffn_down.weight"));
  EXPECT_EQ(file.tensor("blk.1.ffn_down.weight", {16, 8}).columns(), 16U);
  const std::string path = bytes.path().string();
  EXPECT_EQ(error_of([&] { file.tensor("x", {1}); }), path + ": tensor 'x' is missing");
  EXPECT_EQ(error_of([&] { file.tensor("output_norm.weight", {9}); }),
            path + ": tensor 'output_norm.weight' is 8, not 9");
}

TEST(ModelFile, OpensAHuggingFaceFolder) {
  TemporaryFolder folder;
  folder.file("config.json", tiny_hf_config().dump())
      .file("model.safetensors", tiny_hf_weights().text());
  ModelFile opened(folder.path());
  const WeightTensor* before = opened.tensors().front();
  const ModelFile file = std::move(opened);
  EXPECT_EQ(file.tensors().front(), before);
  EXPECT_EQ(file.tensors().size(), 20U);
  EXPECT_EQ(file.gguf(), nullptr);
  EXPECT_EQ(file.folder(), folder.path());
  EXPECT_EQ(file.tensor("token_embd.weight", {8, 10}).rows(), 10U);
  EXPECT_EQ(file.tensor("blk.0.attn_q.weight", {8, 16}).format, BlockFormat::f32);
  EXPECT_EQ(file.tensor("blk.1.attn_output.weight", {16, 8}).data.size(), 512U);
}

TEST(ModelFile, OpensShards) {
  SafetensorsWriter first;
  SafetensorsWriter second;
  write_hf_outer(first);
  write_hf_layer(first, 0);
  write_hf_layer(second, 1);
  Json map;
  for (const std::string& name : first.names()) map[name] = "a.safetensors";
  for (const std::string& name : second.names()) map[name] = "b.safetensors";
  TemporaryFolder folder;
  folder.file("config.json", tiny_hf_config().dump())
      .file("a.safetensors", first.text())
      .file("b.safetensors", second.text())
      .file("model.safetensors.index.json",
            Json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}.dump());
  EXPECT_EQ(ModelFile(folder.path()).tensors().size(), 20U);
}

TEST(ModelFile, OpensAConfigurationAlone) {
  TemporaryFolder folder;
  folder.file("config.json", tiny_hf_config().dump());
  const ModelFile file(folder.path() / "config.json");
  EXPECT_EQ(file.config().width, 8);
  EXPECT_FALSE(file.has_weights());
  EXPECT_TRUE(file.tensors().empty());
  EXPECT_FALSE(file.has_tensor("token_embd.weight"));
  EXPECT_EQ(
      error_of([&] {
        file.tensor("token_embd.weight", {8, 10});
      }),
      (folder.path() / "config.json").string() + ": is a configuration, which has no weights");
}

TEST(ModelFile, ATiedCheckpointMayStoreItsOutputToo) {
  TemporaryFolder folder;
  folder.file("config.json", tiny_hf_config().dump())
      .file("model.safetensors", tiny_hf_weights().tensor("lm_head.weight", {10, 8}).text());
  EXPECT_FALSE(ModelFile(folder.path()).has_tensor("output.weight"));
}

TEST(ModelFile, RefusesOtherPaths) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(error_of([&] { ModelFile{folder.path()}; }),
            path + "/config.json: No such file or directory");
  EXPECT_EQ(error_of([] { ModelFile{"/x/model.safetensors"}; }),
            "/x/model.safetensors: is a part of a model; give the folder that it lies in");
  EXPECT_EQ(error_of([] { ModelFile{"/x/model.gguf"}; }),
            "/x/model.gguf: No such file or directory");
}

TEST(ModelFile, RealModelsAreWhole) {
  HEADWISE_MODEL_FILE_OR_SKIP(path);
  const ModelFile file(path);
  EXPECT_EQ(file.tensors().size(), 272U);
  EXPECT_EQ(file.config().rope_pairs, RopePairs::neighbours);
}

TEST(HfNames, AreMappedByFamily) {
  const auto name = [](const char* hf, const char* family) {
    return gguf_name(hf, family).value_or("none");
  };
  EXPECT_EQ(name("model.layers.12.self_attn.q_proj.bias", "qwen2"), "blk.12.attn_q.bias");
  EXPECT_EQ(name("model.layers.0.post_attention_layernorm.weight", "llama"),
            "blk.0.ffn_norm.weight");
  EXPECT_EQ(name("model.layers.0.post_attention_layernorm.weight", "gemma3"),
            "blk.0.post_attention_norm.weight");
  EXPECT_EQ(name("model.layers.0.pre_feedforward_layernorm.weight", "gemma3"),
            "blk.0.ffn_norm.weight");
  EXPECT_EQ(name("model.layers.0.pre_feedforward_layernorm.weight", "llama"), "none");
  EXPECT_EQ(name("language_model.model.norm.weight", "gemma3"), "output_norm.weight");
  EXPECT_EQ(name("model.language_model.layers.3.mlp.up_proj.weight", "gemma3"),
            "blk.3.ffn_up.weight");
  EXPECT_EQ(name("language_model.model.norm.weight", "llama"), "none");
  EXPECT_EQ(name("vision_tower.x", "gemma3"), "");
  EXPECT_EQ(name("vision_tower.x", "llama"), "none");
  EXPECT_EQ(name("model.layers.0.self_attn.rotary_emb.inv_freq", "llama"), "");
  for (const char* bad : {"model.layers.00.mlp.up_proj.weight", "model.layers.mlp.up_proj.weight",
                          "model.layers.123456.mlp.up_proj.weight", "model.layers.1", ""}) {
    EXPECT_EQ(name(bad, "llama"), "none") << bad;
  }
}

}  // namespace
}  // namespace headwise
