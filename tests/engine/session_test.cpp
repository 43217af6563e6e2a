#include "engine/session.h"

#include <gtest/gtest.h>

#include "engine/runner.h"
#include "headwise/error.h"
#include "tests/engine/double_llama.h"
#include "tests/engine/tiny_llama.h"
#include "tests/model/gguf_writer.h"

namespace headwise {
namespace {

constexpr int kContext = 300;  // several pages

LlamaConfig long_config() {
  LlamaConfig config = tiny_config();
  config.context = kContext;
  return config;
}

std::vector<TokenId> tokens(int count, int first = 13) {
  std::vector<TokenId> result;
  for (int i = 0; i < count; ++i) result.push_back((i * 97 + first) % 250);
  return result;
}

class TinySession : public testing::Test {
 protected:
  TinySession()
      : weights_(random_llama(long_config(), 11)),
        file_(gguf_of(weights_)),
        runner_(file_.path()) {}

  Session session(DType kv_type = DType::f32, bool check = false) const {
    return runner_.session({.check = check, .kv_type = kv_type});
  }

  LlamaWeights weights_;
  TemporaryFile file_;
  Runner runner_;
};

TEST_F(TinySession, WarmTextsAreThoseOfLoopsInDouble) {
  Session one = session();
  std::vector<TokenId> longer = tokens(200);
  const Generation cold = one.answer(tokens(150), 6);
  EXPECT_EQ(cold.reused_tokens, 0);
  EXPECT_EQ(cold.new_tokens, greedy_in_double(weights_, tokens(150), 6));
  const Generation warm = one.answer(longer, 6);
  EXPECT_GE(warm.reused_tokens, 64);  // whole pages of the first text, and a part
  EXPECT_LT(warm.reused_tokens, 156);
  EXPECT_EQ(warm.new_tokens, greedy_in_double(weights_, longer, 6));
  const Generation again = one.answer(longer, 6);
  EXPECT_GE(again.reused_tokens, 128);
  EXPECT_EQ(again.new_tokens, warm.new_tokens);
  const Generation other = one.answer(tokens(80, 40), 4);
  EXPECT_EQ(other.reused_tokens, 0);
  EXPECT_EQ(other.new_tokens, greedy_in_double(weights_, tokens(80, 40), 4));
}

TEST_F(TinySession, TextsThatFillTheCachePushOthersOut) {
  Session one = session();
  for (int i = 0; i < 6; ++i) {
    const std::vector<TokenId> text = tokens(kContext - 3, i + 1);
    const Generation generation = one.answer(text, 100);
    EXPECT_EQ(generation.finish, Finish::context);
    EXPECT_EQ(generation.new_tokens.size(), 4U);
    EXPECT_EQ(generation.new_tokens, greedy_in_double(weights_, text, 4)) << i;
  }
}

/// The last page of a full cache is known, so that what goes on inside of it needs another one.
TEST_F(TinySession, ATextThatFillsTheCacheMayChangeItsEnd) {
  Session one = session();
  std::vector<TokenId> text = tokens(kContext);
  one.answer(text, 1);
  for (const int from : {kContext - 1, kContext - 2, kContext - 50}) {
    text[std::size_t(from)] += 1;
    const Generation generation = one.answer(text, 1);
    EXPECT_EQ(generation.reused_tokens, from);
    EXPECT_EQ(generation.new_tokens, greedy_in_double(weights_, text, 1));
  }
}

TEST_F(TinySession, GoesOnBehindWhatFailed) {
  Session one = session();
  EXPECT_THROW(one.answer(tokens(kContext + 1), 4), Error);
  EXPECT_THROW(one.answer({}, 4), Error);
  EXPECT_THROW(one.answer(tokens(5), 0), Error);
  EXPECT_THROW(one.answer({1, 100000}, 4), Error);  // outside of the vocabulary
  int steps = 0;
  const Generation stopped = one.answer(tokens(100), 50, {.stop = [&] { return ++steps > 3; }});
  EXPECT_EQ(stopped.finish, Finish::stopped);
  EXPECT_EQ(one.answer(tokens(100), 4).new_tokens, greedy_in_double(weights_, tokens(100), 4));
}

TEST_F(TinySession, HasACacheOfEveryFormat) {
  std::int64_t f32_bytes = 0;
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::i8}) {
    Session one = session(type, true);
    const Generation cold = one.answer(tokens(150), 6);
    const Generation warm = one.answer(tokens(150), 6);
    EXPECT_EQ(warm.new_tokens, cold.new_tokens) << name_of(type);
    EXPECT_GE(warm.reused_tokens, 128) << name_of(type);
    EXPECT_TRUE(warm.check->passed()) << name_of(type) << ": " << warm.check->worst_error;
    EXPECT_EQ(warm.kv_saturated.has_value(), type == DType::f8e4m3) << name_of(type);
    if (type == DType::f32) f32_bytes = cold.kv_bytes;
    if (type != DType::i8) {
      EXPECT_EQ(cold.kv_bytes, f32_bytes * size_of(type) / 4) << name_of(type);
    }
  }
}

}  // namespace
}  // namespace headwise
