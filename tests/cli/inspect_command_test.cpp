#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/folder_test.h"
#include "tests/cli/run_program.h"

namespace headwise::cli {
namespace {

// Llama-3.1-8B's, as its makers published it.
constexpr const char* kLlama = R"({
  "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
  "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
  "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
  "max_position_embeddings": 131072, "rms_norm_eps": 1e-05, "rope_theta": 500000.0,
  "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 8192, "rope_type": "llama3"},
  "tie_word_embeddings": false, "attention_bias": false})";

class InspectCommand : public FolderTest {};

TEST_F(InspectCommand, KnowsAConfigurationWithoutWeights) {
  const Outcome outcome = run_program({"inspect", write("config.json", kLlama), "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document["architecture"], "llama");
  EXPECT_EQ(document["kv_bytes_per_token"], 2 * 32 * 8 * 128 * 2);
  EXPECT_EQ(document["kv_bytes_at_context"], std::int64_t{2 * 32 * 8 * 128 * 2} * 131072);
  EXPECT_TRUE(document["parameters"].is_null());
  ASSERT_EQ(document["groups"].size(), 1U);
  const auto& group = document["groups"][0];
  EXPECT_EQ(group["layers"], "0-31");
  EXPECT_EQ(group["group_size"], 4);
  EXPECT_EQ(group["head_dim"], 128);
  EXPECT_TRUE(group["window"].is_null());
}

TEST_F(InspectCommand, EightBitKvTakesHalf) {
  const std::string config = write("config.json", kLlama);
  const auto bytes = [&](const char* kv_type) {
    const Outcome outcome = run_program({"inspect", config, "--kv-type", kv_type, "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out)["kv_bytes_per_token"].get<int>();
  };
  EXPECT_EQ(bytes("f8"), bytes("bf16") / 2);
  EXPECT_EQ(bytes("i8"), bytes("f8") + 2 * 32 * 8 * 4);  // a scale a token, KV head and tensor
}

TEST_F(InspectCommand, SaysItForPeopleToo) {
  const Outcome outcome = run_program({"inspect", write("config.json", kLlama)});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* words : {"32 query heads over 8 KV heads (group size 4) of 128", "131072 tokens",
                            "llama3", "131072 bytes a token", "no weights here"})
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << " in\n" << outcome.out;
}

TEST_F(InspectCommand, MistakesAreOneLineEach) {
  const std::string config = write("config.json", kLlama);
  const std::string broken = write("broken.json", "{\"architectures\": [");
  const std::pair<std::vector<std::string>, int> mistakes[] = {
      {{"inspect"}, 2},
      {{"inspect", "none.gguf"}, 1},
      {{"inspect", broken}, 1},
      {{"inspect", config, "--kv-type", "f9"}, 2},
      {{"inspect", config, "--nonsense"}, 2}};
  for (const auto& [arguments, status] : mistakes) {
    const Outcome outcome = run_program(arguments);
    EXPECT_EQ(outcome.status, status) << arguments.back();
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

}  // namespace
}  // namespace headwise::cli
