#include "engine/session.h"

#include <gtest/gtest.h>

#include "engine/runner.h"
#include "tests/engine/tiny_engine.h"
#include "tests/model/error_of.h"

namespace headwise {
namespace {

constexpr int kContext = 300;  // several pages

TinyModel long_model() {
  TinyModel model = llama_model();
  model.context = kContext;
  return model;
}

class TinySession : public testing::Test {
 protected:
  Session session(DType kv_type = DType::f32, bool check = false) {
    return runner_.session({.check = check, .kv_type = kv_type});
  }

  TemporaryFile file_{gguf_of(long_model(), 11)};
  DoubleModel exact_{ModelFile(file_.path())};
  Runner runner_{file_.path(), {.maths = Maths::f32}};
};

TEST_F(TinySession, WarmTextsAreThoseOfLoopsInDouble) {
  Session one = session();
  const std::vector<TokenId> longer = some_tokens(200);
  const Generation cold = one.answer(some_tokens(150), 6);
  EXPECT_EQ(cold.reused_tokens, 0);
  EXPECT_EQ(cold.new_tokens, exact_.greedy(some_tokens(150), 6));
  const Generation warm = one.answer(longer, 6);
  EXPECT_EQ(warm.reused_tokens, 150);
  EXPECT_EQ(warm.new_tokens, exact_.greedy(longer, 6));
  const Generation again = one.answer(longer, 6);
  EXPECT_EQ(again.reused_tokens, 199);  // the last one's logits are not kept
  EXPECT_EQ(again.new_tokens, warm.new_tokens);
  const Generation other = one.answer(some_tokens(80, 40), 4);
  EXPECT_EQ(other.reused_tokens, 0);
  EXPECT_EQ(other.new_tokens, exact_.greedy(some_tokens(80, 40), 4));
}

TEST_F(TinySession, AConversationGoesOnBehindItsAnswer) {
  Session one = session();
  std::vector<TokenId> text = some_tokens(50);
  for (int turn = 0; turn < 4; ++turn) {
    const auto held = turn == 0 ? 0 : std::ssize(text) - 11;  // of an answer all but the last
    const Generation generation = one.answer(text, 5);
    EXPECT_EQ(generation.reused_tokens, held);
    EXPECT_EQ(generation.new_tokens, exact_.greedy(text, 5)) << turn;
    text.insert(text.end(), generation.new_tokens.begin(), generation.new_tokens.end());
    for (const TokenId token : some_tokens(10, turn + 60)) text.push_back(token);
  }
}

TEST_F(TinySession, TextsThatFillTheCachePushOthersOut) {
  Session one = session();
  for (int i = 0; i < 6; ++i) {
    const std::vector<TokenId> text = some_tokens(kContext - 3, i + 1);
    const Generation generation = one.answer(text, 100);
    EXPECT_EQ(generation.finish, Finish::context);
    EXPECT_EQ(generation.new_tokens.size(), 4U);
    EXPECT_EQ(generation.new_tokens, exact_.greedy(text, 4)) << i;
  }
}

/// The last page of a full cache is known, so that what goes on inside of it needs another one.
TEST_F(TinySession, ATextThatFillsTheCacheMayChangeItsEnd) {
  Session one = session();
  std::vector<TokenId> text = some_tokens(kContext);
  one.answer(text, 1);
  for (const int from : {kContext - 1, kContext - 2, kContext - 50}) {
    text[std::size_t(from)] ^= 1;
    const Generation generation = one.answer(text, 1);
    EXPECT_EQ(generation.reused_tokens, from);
    EXPECT_EQ(generation.new_tokens, exact_.greedy(text, 1));
  }
}

TEST_F(TinySession, WhatIsTooLongIsAnErrorWithBothNumbers) {
  Session one = session();
  EXPECT_EQ(error_of([&] { one.answer(some_tokens(kContext + 1), 4); }),
            "the prompt has 301 tokens, the model's context is 300");
  Session small(runner_.weights(), runner_.tokenizer(), {.capacity = 20});
  EXPECT_EQ(error_of([&] { small.answer(some_tokens(21), 4); }),
            "the prompt has 21 tokens, the cache has room for 20");
  const Generation full = small.answer(some_tokens(20), 4);
  EXPECT_EQ(full.finish, Finish::context);
  EXPECT_EQ(full.new_tokens, exact_.greedy(some_tokens(20), 1));
  EXPECT_EQ(error_of([&] { Session(runner_.weights(), runner_.tokenizer(), {}); }),
            "capacity must be at least 1, is 0");
}

TEST_F(TinySession, GoesOnBehindWhatFailed) {
  Session one = session();
  const auto error = [&](std::vector<TokenId> prompt, std::int64_t max_new) {
    return error_of([&] { one.answer(std::move(prompt), max_new); });
  };
  EXPECT_NE(error({}, 4), "");
  EXPECT_EQ(error(some_tokens(5), 0), "max_new must be at least 1, is 0");
  EXPECT_EQ(error({1, 100000}, 4), "token 100000 is outside of the vocabulary of 263");
  int steps = 0;
  const Generation stopped =
      one.answer(some_tokens(100), 50, {.stop = [&] { return ++steps > 3; }});
  EXPECT_EQ(stopped.finish, Finish::stopped);
  EXPECT_EQ(one.answer(some_tokens(100), 4).new_tokens, exact_.greedy(some_tokens(100), 4));
}

TEST_F(TinySession, EachTextIsDrawnFromTheSeedAnew) {
  Session one = runner_.session({.sampling = {.temperature = 1.0, .seed = 9}});
  const Generation first = one.answer(some_tokens(30), 20);
  EXPECT_NE(first.new_tokens, exact_.greedy(some_tokens(30), 20));
  EXPECT_EQ(one.answer(some_tokens(30), 20).new_tokens, first.new_tokens);
}

TEST_F(TinySession, HasACacheOfEveryFormat) {
  std::int64_t f32_bytes = 0;
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::i8}) {
    Session one = session(type, true);
    const Generation cold = one.answer(some_tokens(150), 6);
    const Generation warm = one.answer(some_tokens(150), 6);
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

TEST(SessionOfSpareRows, NoTokenIsDrawnThatTheVocabularyHasNot) {
  TinyModel model = long_model();
  model.spare_rows = 400;
  const TemporaryFile file(gguf_of(model));
  Runner runner(file.path(), {.maths = Maths::f32});
  ASSERT_EQ(runner.config().vocab, runner.tokenizer().vocab_size() + 400);
  for (const std::uint64_t seed : {1, 2, 3}) {
    Session session = runner.session({.sampling = {.temperature = 1000.0, .seed = seed}});
    const Generation generation = session.answer(some_tokens(20), 40);  // any token is as likely
    for (const TokenId token : generation.new_tokens)
      EXPECT_LT(token, runner.tokenizer().vocab_size());
  }
}

}  // namespace
}  // namespace headwise
