#include <gtest/gtest.h>

#include "engine/runner.h"
#include "headwise/kv_memory.h"
#include "tests/engine/tiny_engine.h"
#include "tests/model/error_of.h"

namespace headwise {
namespace {

constexpr int kContext = 2000;
constexpr int kSlack = 1024;  // tokens that a text may be cut by, whatever the windows
constexpr int kChunk = 64;

TinyModel long_gemma3(int window = 5) {
  TinyModel model = gemma3_model();
  model.context = kContext;
  model.window = window;
  return model;
}

std::vector<TokenId> joined(std::vector<TokenId> text, const std::vector<TokenId>& more) {
  text.insert(text.end(), more.begin(), more.end());
  return text;
}

/// Texts over two layer groups, one of which keeps a window and some more.
class WindowedSession : public testing::Test {
 protected:
  Session session(DType kv_type = DType::f32, bool check = false) {
    return runner_.session({.chunk = kChunk, .check = check, .kv_type = kv_type});
  }

  /// Answers, and compares with loops in double. Returns the number of reused tokens.
  std::int64_t expect_exact(Session& session, const std::vector<TokenId>& text, int count) const {
    const Generation generation = session.answer(text, count);
    EXPECT_EQ(generation.new_tokens, exact_.greedy(text, count));
    return generation.reused_tokens;
  }

  TemporaryFile file_{gguf_of(long_gemma3())};
  DoubleModel exact_{ModelFile(file_.path())};
  Runner runner_{file_.path(), {.maths = Maths::f32}};
};

TEST_F(WindowedSession, KeepsWindowsAndSomeMore) {
  const Generation generation = session().answer(some_tokens(10), 1);
  std::int64_t all = 0;
  std::int64_t least = 0;
  for (const LayerGroup& group : layer_groups(runner_.config(), DType::f32, DType::f32)) {
    const bool windowed = group.shape.window_left >= 0;
    all += kContext * kv_bytes_per_token(group);
    least += (windowed ? kSlack + kChunk : kContext) * kv_bytes_per_token(group);
  }
  EXPECT_GE(generation.kv_bytes, least);
  EXPECT_LT(generation.kv_bytes, all);
  EXPECT_EQ(generation.backends.size(), 2U);  // a prefill, of two groups
}

TEST_F(WindowedSession, WarmTextsAreThoseOfLoopsInDouble) {
  Session one = session();
  EXPECT_EQ(expect_exact(one, some_tokens(150), 6), 0);
  EXPECT_EQ(expect_exact(one, some_tokens(200), 6), 150);
  EXPECT_EQ(expect_exact(one, some_tokens(200), 6), 199);
  EXPECT_EQ(expect_exact(one, some_tokens(120), 6), 119);
  EXPECT_EQ(expect_exact(one, some_tokens(80, 40), 4), 0);
}

TEST_F(WindowedSession, ASecondQuestionOnOneDocumentReadsItOnce) {
  Session one = session();
  const std::vector<TokenId> document = some_tokens(1500);
  expect_exact(one, joined(document, some_tokens(40, 100)), 20);
  for (const int question : {101, 102, 103})
    EXPECT_EQ(expect_exact(one, joined(document, some_tokens(30, question)), 20), 1500);
}

TEST_F(WindowedSession, ATextIsCutWithinTheSlack) {
  for (const int back : {1, 63, 64, 65, kSlack - 1, kSlack}) {
    Session one = session();
    one.answer(some_tokens(1500), 1);
    const std::vector<TokenId> text =
        joined(some_tokens(1500 - back), some_tokens(back < 10 ? back + 3 : 10, 77));
    EXPECT_EQ(expect_exact(one, text, 3), 1500 - back) << back;
  }
}

TEST_F(WindowedSession, WhatWindowsHaveGivenUpIsComputedAgain) {
  for (const int back : {kSlack + 1, kSlack + 64, kSlack + 200, 1499}) {
    Session one = session();
    one.answer(some_tokens(1500), 1);
    const std::vector<TokenId> text = joined(some_tokens(1500 - back), some_tokens(10, 77));
    EXPECT_LE(expect_exact(one, text, 3), 1500 - back) << back;
    EXPECT_EQ(expect_exact(one, joined(text, some_tokens(5, 50)), 3), std::ssize(text)) << back;
  }
}

TEST_F(WindowedSession, TextsThatFillTheCachePushOthersOut) {
  Session one = session();
  for (const int first : {1, 2, 1, 3, 1}) {
    const std::vector<TokenId> text = some_tokens(kContext - 3, first);
    const Generation generation = one.answer(text, 100);
    EXPECT_EQ(generation.finish, Finish::context);
    EXPECT_EQ(generation.new_tokens, exact_.greedy(text, 4)) << first;
  }
}

TEST_F(WindowedSession, ATextThatFillsTheCacheMayChangeItsEnd) {
  Session one = session();
  std::vector<TokenId> text = some_tokens(kContext);
  expect_exact(one, text, 1);
  for (const int from : {kContext - 1, kContext - 2, kContext - 70, kContext - 1000}) {
    text[std::size_t(from)] ^= 1;
    EXPECT_EQ(expect_exact(one, text, 1), from);
  }
}

TEST_F(WindowedSession, ALongAnswerIsThatOfLoopsInDouble) {
  Session one = session();
  expect_exact(one, some_tokens(20), 300);
}

TEST_F(WindowedSession, GoesOnBehindWhatFailed) {
  Session one = session();
  expect_exact(one, some_tokens(700), 2);
  std::vector<TokenId> wrong = some_tokens(650);
  wrong.push_back(100000);
  EXPECT_EQ(error_of([&] { one.answer(wrong, 2); }),
            "token 100000 is outside of the vocabulary of 263");
  int steps = 0;
  one.answer(some_tokens(900, 40), 2, {.stop = [&] { return ++steps > 3; }});
  expect_exact(one, some_tokens(900), 2);
}

TEST_F(WindowedSession, EveryGroupHasScalesOfItsOwn) {
  Session one = session(DType::f8e4m3, true);
  const Generation cold = one.answer(some_tokens(300), 6);
  EXPECT_TRUE(cold.check->passed()) << cold.check->worst_error;
  EXPECT_GT(cold.check->rows, 0);
  // Scales are by the first chunk with room above: few numbers of the rest are beyond them.
  const std::int64_t numbers = 300 * 7 * 2 * 2 * 8;
  EXPECT_LT(cold.kv_saturated.value(), numbers / 100);
  const Generation warm = one.answer(some_tokens(300), 6);
  EXPECT_EQ(warm.reused_tokens, 299);
  EXPECT_EQ(warm.new_tokens, cold.new_tokens);
}

/// With a window of one, the token itself, nothing behind the end of a text is needed.
TEST(SessionOfSmallWindows, GoOnAtTheEndsOfPages) {
  for (const int window : {1, 2}) {
    const TemporaryFile file(gguf_of(long_gemma3(window)));
    const DoubleModel exact{ModelFile(file.path())};
    Runner runner(file.path(), {.maths = Maths::f32});
    Session session = runner.session({.chunk = kChunk});
    for (const int length : {64, 128, 129, 192, 256}) {
      const Generation generation = session.answer(some_tokens(length), 1);
      EXPECT_EQ(generation.new_tokens, exact.greedy(some_tokens(length), 1)) << length;
    }
  }
}

}  // namespace
}  // namespace headwise
