#include "advisor/advice/workload_answer.h"

#include <gtest/gtest.h>

#include "tests/advisor/model/described_model.h"

namespace headwise {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

/// 3 turns of 512 + 512 tokens behind 29696: 32768 at the end, of which 3072 of their own.
Workload example() {
  return {.name = "own",
          .note = {},
          .file = {},
          .shared_prefix = 29696,
          .input = 512,
          .output = 512,
          .turns = 3,
          .concurrency = 16,
          .ttft_target_ms = 1000.0,
          .tpot_target_ms = 50.0};
}

class WorkloadAnswers : public testing::Test {
 protected:
  const DeviceTimes times_ = device_times(read_hardware("h200"));
  const ModelDescription llama_ = described("llama-3.1-8b");

  WorkloadAnswer ask(const Workload& workload, const Deployment& deployment = {}) const {
    return answer_workload(workload, llama_, deployment, {}, times_);
  }
};

TEST_F(WorkloadAnswers, AreTheLastTurns) {
  const WorkloadAnswer answer = ask(example());
  EXPECT_EQ(answer.context, 32768);
  const NewTokens turn{.prefix = 29696 + 2 * 1024, .count = 512};
  EXPECT_EQ(answer.first.total().seconds, first_token(llama_, {}, turn, times_).total().seconds);
  const NewTokens all{.prefix = 0, .count = 29696 + 2 * 1024 + 512};
  EXPECT_EQ(answer.first_of_all.seconds, first_token(llama_, {}, all, times_).total().seconds);
  EXPECT_LT(answer.first.total().seconds, answer.first_of_all.seconds);
  EXPECT_EQ(answer.next.total().seconds, next_token(llama_, {}, 16, 32768, times_).total().seconds);
}

// A token is 131072 bytes: 29696 tokens are 3.625 GiB, 3072 are 0.375. Room on an H200 is 126.9 GiB
// less 14.957 of weights: 111.943. 27 conversations of 4 GiB, or (111.943 - 3.625) / 0.375 = 288.8.
TEST_F(WorkloadAnswers, ShareThePrefix) {
  const WorkloadAnswer answer = ask(example());
  EXPECT_EQ(answer.kv_bytes, (3.625 + 16 * 0.375) * kGiB);
  EXPECT_EQ(answer.kv_bytes_without_sharing, 16 * 4.0 * kGiB);
  EXPECT_EQ(answer.most_without_sharing, 27);
  EXPECT_EQ(answer.most_conversations, 288);
  // each of two groups has a prefix of its own
  EXPECT_EQ(ask(example(), {.adp = 2}).kv_bytes, (2 * 3.625 + 16 * 0.375) * kGiB);
}

// Sixteen prefills, one after another, and 512 steps make 16 x 512 tokens.
TEST_F(WorkloadAnswers, PrefillsTakeTheirPartOfATurn) {
  const WorkloadAnswer answer = ask(example());
  const double turn = 16 * answer.first.total().seconds + 512 * answer.next.total().seconds;
  EXPECT_NEAR(answer.turn.seconds, turn, 1e-9);
  EXPECT_NEAR(*answer.throughput, 16 * 512 / turn, 1e-6);
  EXPECT_NEAR(answer.next_with_prefills.seconds, turn / 512, 1e-9);
}

TEST_F(WorkloadAnswers, JudgeTargets) {
  Workload workload = example();
  const double ttft = ask(workload).first.total().seconds * 1e3;
  workload.ttft_target_ms = ttft + 1.0;
  workload.tpot_target_ms = 1.0;
  const WorkloadAnswer answer = ask(workload);
  EXPECT_TRUE(answer.ttft->is_met);
  EXPECT_NEAR(answer.ttft->margin_ms, 1.0, 1e-9);
  EXPECT_FALSE(answer.ttft->is_sure);  // a prefix is known by a rule
  EXPECT_FALSE(answer.tpot->is_met);
  EXPECT_TRUE(answer.tpot->is_sure);
  EXPECT_LT(answer.tpot->margin_ms, 0.0);
  EXPECT_NE(answer.limit.find("TPOT misses"), std::string::npos) << answer.limit;
  workload.ttft_target_ms = ttft - 1.0;
  EXPECT_FALSE(ask(workload).ttft->is_met);
  workload.ttft_target_ms.reset();
  EXPECT_FALSE(ask(workload).ttft);
}

TEST_F(WorkloadAnswers, MemoryLimitsBeforeTimes) {
  Workload workload = example();
  workload.concurrency = 289;
  const WorkloadAnswer many = ask(workload);
  EXPECT_FALSE(many.throughput);
  EXPECT_EQ(many.limit, "memory: of 289 conversations 288 fit at once");
  const WorkloadAnswer none =
      answer_workload(example(), described("llama-3.1-70b"), {}, {}, times_);
  EXPECT_EQ(none.most_conversations, 0);
  EXPECT_EQ(none.limit, "memory: weights of 131.4 GiB a device do not fit in 126.9 GiB");
}

TEST_F(WorkloadAnswers, MoreReuseIsNeverSlower) {
  Workload workload = example();
  double before = 0.0;
  for (const double reuse : {1.0, 0.75, 0.5, 0.25, 0.0}) {
    workload.reuse = reuse;
    const double now = ask(workload).first.total().seconds;
    EXPECT_GE(now, before) << reuse;
    before = now;
  }
  EXPECT_EQ(before, ask(workload).first_of_all.seconds);
}

// A window of 4096 leaves the prefix behind: 3072 own tokens of the last 4096 are not shared.
TEST_F(WorkloadAnswers, AWindowKeepsItsOwnTokens) {
  const ModelDescription mistral = described("mistral-7b-v0.1");
  const WorkloadAnswer answer = answer_workload(example(), mistral, {}, {.page = 1}, times_);
  EXPECT_EQ(answer.kv_bytes, (4096.0 + 16 * 3072) * 131072);
  EXPECT_EQ(answer.kv_bytes_without_sharing, 16 * 4096.0 * 131072);
}

TEST_F(WorkloadAnswers, WhatIsNotKnownSaysSo) {
  const DeviceTimes cpu = device_times(read_hardware("epyc_9005"));
  const WorkloadAnswer answer = answer_workload(example(), llama_, {}, {}, cpu);
  EXPECT_FALSE(answer.first.total());
  EXPECT_FALSE(answer.throughput || answer.ttft);
  EXPECT_NE(answer.limit.find("its memory is not known"), std::string::npos) << answer.limit;
}

}  // namespace
}  // namespace headwise
