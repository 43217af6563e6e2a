#include "engine/runner.h"

#include <gtest/gtest.h>

#include "headwise/machine.h"
#include "tests/engine/double_model.h"
#include "tests/engine/tiny_models.h"
#include "tests/model/error_of.h"

namespace headwise {
namespace {

TinyModel short_model() {
  TinyModel model = llama_model();
  model.context = 40;
  return model;
}

/// A tiny random model in a file, in double and in the runner.
class TinyRunner : public testing::Test {
 protected:
  static GenerateOptions options(std::string prompt, std::int64_t max_new = 8) {
    return {.prompt = std::move(prompt), .raw = true, .max_new = max_new};
  }

  std::string error_of_run(const GenerateOptions& wrong) {
    return error_of([&] { runner_.generate(wrong); });
  }

  TemporaryFile file_{gguf_of(short_model(), 11)};
  DoubleModel exact_{ModelFile(file_.path())};
  Runner runner_{file_.path(), {.maths = Maths::f32}};
};

TEST_F(TinyRunner, GreedyTokensAreThoseOfLoopsInDouble) {
  for (const std::int64_t chunk : {1, 4, 512}) {
    GenerateOptions asked = options("hello, hell");
    asked.chunk = chunk;
    const Generation generation = runner_.generate(asked);
    ASSERT_EQ(generation.finish, Finish::max_new);
    EXPECT_EQ(generation.new_tokens, exact_.greedy(generation.prompt_tokens, 8));
  }
}

TEST_F(TinyRunner, StreamsTheTextThatItReturns) {
  std::string streamed;
  std::vector<std::int64_t> progress;
  GenerateOptions asked = options("hello, hell");
  asked.chunk = 4;
  const Generation generation = runner_.generate(
      asked, {.text = [&](std::string_view piece) { streamed += piece; },
              .prefill = [&](std::int64_t done, std::int64_t) { progress.push_back(done); }});
  EXPECT_EQ(streamed, generation.text);
  EXPECT_FALSE(streamed.empty());
  ASSERT_EQ(generation.prompt_tokens.size(), 5U);  // hell o , " h" ell
  EXPECT_EQ(progress, (std::vector<std::int64_t>{4, 5}));
}

TEST_F(TinyRunner, ARawPromptMaySpellSpecialTokens) {
  EXPECT_EQ(runner_.encode(options("<s>hell")).size(), 2U);
}

TEST_F(TinyRunner, ReportsItsNumbers) {
  const Generation generation = runner_.generate(options("hello"));
  EXPECT_GT(generation.ttft_ms.value(), 0.0);
  EXPECT_GT(generation.tpot_ms.value(), 0.0);
  EXPECT_NEAR(generation.tpot_ms.value() * generation.decode_tok_s.value(), 1000.0, 1e-6);
  EXPECT_GT(generation.prefill_tok_s.value(), 0.0);
  for (const auto& share :
       {generation.attention_share_prefill, generation.attention_share_decode}) {
    EXPECT_GT(share.value(), 0.0);
    EXPECT_LT(share.value(), 1.0);
  }
  EXPECT_GT(generation.peak_bytes, 1 << 20);
  EXPECT_EQ(generation.backends.size(), 2U);  // prefill, decode
  // A whole number of pages for layers * (K + V) * kv_heads * head_dim floats a token.
  EXPECT_EQ(generation.kv_bytes % (2 * 2 * 2 * 6 * 4), 0);
  EXPECT_GE(generation.kv_bytes,
            2 * 2 * 2 * 6 * 4 * std::int64_t(generation.prompt_tokens.size() + 7));
}

TEST_F(TinyRunner, OneTokenHasNoTimeOfLaterOnes) {
  const Generation generation = runner_.generate(options("hello", 1));
  EXPECT_EQ(generation.new_tokens.size(), 1U);
  EXPECT_FALSE(generation.tpot_ms);
  EXPECT_FALSE(generation.decode_tok_s);
  EXPECT_FALSE(generation.attention_share_decode);
}

TEST_F(TinyRunner, StopsWhereTheContextEnds) {
  const Generation generation = runner_.generate(options("hello", 100));
  ASSERT_EQ(generation.finish, Finish::context);
  // The last token is never looked at, so that it may stand behind the context.
  EXPECT_EQ(generation.prompt_tokens.size() + generation.new_tokens.size(), 41U);
}

TEST_F(TinyRunner, APromptMayFillTheContextButNotPassIt) {
  const Generation full = runner_.generate(options(std::string(40, 'x'), 5));
  EXPECT_EQ(full.finish, Finish::context);
  EXPECT_EQ(full.new_tokens.size(), 1U);
  EXPECT_EQ(error_of_run(options(std::string(41, 'x'))),
            "the prompt has 41 tokens, the model's context is 40");
}

TEST_F(TinyRunner, StopsBetweenStepsWhenAsked) {
  const Generation none = runner_.generate(options("hello"), {.stop = [] { return true; }});
  EXPECT_EQ(none.finish, Finish::stopped);
  EXPECT_TRUE(none.new_tokens.empty());
  EXPECT_FALSE(none.ttft_ms);

  int pieces = 0;
  const Generation some = runner_.generate(
      options("hello"),
      {.text = [&](std::string_view) { ++pieces; }, .stop = [&] { return pieces == 2; }});
  EXPECT_EQ(some.finish, Finish::stopped);
  EXPECT_GE(some.new_tokens.size(), 2U);
  EXPECT_LT(some.new_tokens.size(), 8U);
}

TEST_F(TinyRunner, ChecksAttentionWhenAsked) {
  GenerateOptions asked = options("hello", 20);
  EXPECT_FALSE(runner_.generate(asked).check);
  asked.check = true;
  Runner with_the_machines_maths(file_.path());
  for (Runner* runner : {&runner_, &with_the_machines_maths}) {
    const Generation generation = runner->generate(asked);
    ASSERT_TRUE(generation.check);
    EXPECT_GT(generation.check->rows, 0);
    EXPECT_TRUE(generation.check->passed()) << generation.check->worst_error;
  }
}

TEST_F(TinyRunner, ComputesAsTheMachineIsFastAt) {
  const auto& cpu = this_machine().cpu;
  EXPECT_EQ(Runner(file_.path()).weights().maths, cpu.avx512_bf16 ? Maths::bf16
                                                  : cpu.avx2      ? Maths::blocks
                                                                  : Maths::f32);
  if (!can_compute(Maths::bf16)) return;
  Runner runner(file_.path(), {.maths = Maths::bf16});
  const std::int64_t bytes = runner.generate(options("hello")).kv_bytes;
  GenerateOptions wider = options("hello");
  wider.kv_type = DType::f32;
  EXPECT_EQ(runner.generate(wider).kv_bytes, 2 * bytes);
}

TEST_F(TinyRunner, TheSameSeedDrawsTheSameText) {
  const auto drawn = [&](double temperature, std::uint64_t seed) {
    GenerateOptions asked = options("hello", 20);
    asked.sampling = {.temperature = temperature, .seed = seed};
    return runner_.generate(asked).new_tokens;
  };
  EXPECT_EQ(drawn(1.0, 5), drawn(1.0, 5));
  EXPECT_NE(drawn(1.0, 5), drawn(1.0, 6));
  EXPECT_NE(drawn(1.0, 5), drawn(0.0, 5));
  EXPECT_EQ(drawn(0.0, 5), drawn(0.0, 6));
  EXPECT_EQ(drawn(0.0, 5), runner_.generate(options("hello", 20)).new_tokens);
}

TEST_F(TinyRunner, OnlyTheLargestMayBeDrawn) {
  GenerateOptions asked = options("hello");
  const std::vector<TokenId> greedy = runner_.generate(asked).new_tokens;
  asked.sampling = {.temperature = 2.0, .top_k = 1};
  EXPECT_EQ(runner_.generate(asked).new_tokens, greedy);
  asked.sampling = {.temperature = 2.0, .top_p = 1e-9};
  EXPECT_EQ(runner_.generate(asked).new_tokens, greedy);
}

TEST_F(TinyRunner, MistakesAreOneClearLine) {
  EXPECT_EQ(error_of_run(options("")), "the prompt is empty");
  EXPECT_EQ(error_of_run(options("hello", 0)), "max_new must be at least 1, is 0");
  GenerateOptions wrong = options("hello");
  wrong.chunk = 0;
  EXPECT_EQ(error_of_run(wrong), "chunk must be at least 1, is 0");
  wrong = options("hello");
  wrong.threads = -1;
  EXPECT_EQ(error_of_run(wrong), "threads must not be negative, is -1");
  wrong = options("hello");
  wrong.backend = "nonsense";
  EXPECT_NE(error_of_run(wrong).find("reference"), std::string::npos);
  wrong = options("hello");
  wrong.sampling.temperature = -1.0;
  EXPECT_EQ(error_of_run(wrong), "temperature must be a number from 0 on, is -1");
  wrong = options("hello");
  wrong.raw = false;
  EXPECT_NE(error_of_run(wrong).find("--raw"), std::string::npos);
}

TEST_F(TinyRunner, AForcedBackendIsTheOneThatRan) {
  GenerateOptions asked = options("hello");
  asked.backend = "reference";
  const Generation generation = runner_.generate(asked);
  for (const std::string& line : generation.backends) {
    EXPECT_NE(line.find("-> reference"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace headwise
