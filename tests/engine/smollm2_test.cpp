#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/runner.h"
#include "tests/model/model_file.h"

namespace headwise {
namespace {

std::string read_data(const std::string& name) {
  std::ifstream file(std::string(HEADWISE_TEST_DATA) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The answer is an independent implementation's: scripts/model_oracle.
TEST(SmolLM2Run, PromptAnd32GreedyTokensEqualTheOracles) {
  HEADWISE_MODEL_FILE_OR_SKIP(path);
  const auto answer = nlohmann::json::parse(read_data("answer.json"));
  Runner runner(path, {.maths = Maths::f32});
  for (const std::int64_t chunk : {64, 512}) {
    const Generation generation = runner.generate(
        {.prompt = read_data("prompt.txt"), .max_new = 32, .chunk = chunk, .check = true});
    EXPECT_EQ(generation.prompt_tokens, answer["prompt_tokens"].get<std::vector<TokenId>>());
    EXPECT_EQ(generation.new_tokens, answer["greedy_tokens"].get<std::vector<TokenId>>());
    EXPECT_EQ(generation.text, answer["text"].get<std::string>());
    EXPECT_TRUE(generation.check->passed()) << generation.check->worst_error;
  }
}

TEST(SmolLM2Run, AWarmPromptHasTheSameAnswer) {
  HEADWISE_MODEL_FILE_OR_SKIP(path);
  const auto answer = nlohmann::json::parse(read_data("answer.json"));
  Runner runner(path, {.maths = Maths::f32});
  Session session = runner.session({});
  const auto prompt = answer["prompt_tokens"].get<std::vector<TokenId>>();
  for (const bool warm : {false, true}) {
    const Generation generation = session.answer(prompt, 32);
    EXPECT_EQ(generation.new_tokens, answer["greedy_tokens"].get<std::vector<TokenId>>());
    EXPECT_EQ(generation.reused_tokens > 900, warm) << generation.reused_tokens;
  }
}

TEST(SmolLM2Run, ChunksOfOneTokenGiveTheSameAnswer) {
  HEADWISE_MODEL_FILE_OR_SKIP(path);
  Runner runner(path, {.maths = Maths::f32});
  for (const std::int64_t chunk : {1, 7, 512}) {
    const Generation generation = runner.generate(
        {.prompt = "What is the capital of France?", .max_new = 32, .chunk = chunk});
    EXPECT_EQ(generation.text, "The capital of France is Paris.");
    EXPECT_EQ(generation.finish, Finish::end_token);
  }
}

}  // namespace
}  // namespace headwise
