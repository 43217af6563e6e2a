// Which kernel row of cuda-sm90 takes a problem. A build of some rows only knows these alone.

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cuda/sm90/sm90_backend.h"

namespace headwise::cuda {
namespace {

Support explain(const Problem& problem) {
  Machine machine;
  machine.gpus.push_back({.name = "any",
                          .compute_capability = 90,
                          .shared_memory_per_block = 227 << 10,
                          .memory_bytes = std::int64_t{1} << 34});
  return sm90_backend().explain(problem, machine);
}

Problem problem_of(int dim_qk, int dim_v, DType type, std::int32_t q_len, Phase phase) {
  Problem problem;
  problem.shape = {.q_heads = 32,
                   .kv_heads = 8,
                   .head_dim_qk = dim_qk,
                   .head_dim_v = dim_v,
                   .q_type = type,
                   .kv_type = type};
  problem.device = {DeviceType::cuda, 0};
  problem.phase = phase;
  problem.extent = {.requests = 2, .tokens = 2 * q_len, .q_len = q_len, .kv_len = 9000};
  return problem;
}

TEST(Sm90Rows, OneTakesAllStepsOfAShapeWithBatchInvariant) {
  struct Dims {
    int qk, v;
  };
  for (const auto& [dim_qk, dim_v] : {Dims{64, 64}, {40, 40}, {128, 128}, {192, 128}, {256, 256}})
    for (const DType type : {DType::bf16, DType::f16}) {
      std::set<std::string> rows;
      for (const std::int32_t q_len : {1, 8, 100, 4096})
        for (const Phase phase : {Phase::prefill, Phase::append, Phase::decode, Phase::mixed}) {
          Problem problem = problem_of(dim_qk, dim_v, type, q_len, phase);
          problem.options.batch_invariant = true;
          rows.insert(explain(problem).row);
          problem.shared_prefixes = true;
          rows.insert(explain(problem).row);
          problem.options.batch_invariant = problem.shared_prefixes = false;
          EXPECT_EQ(explain(problem).row.find("invariant"), std::string::npos);
        }
      EXPECT_EQ(rows.size(), 1U) << dim_qk;
      EXPECT_TRUE(rows.begin()->empty() || rows.begin()->find("invariant") != std::string::npos);
    }
}

TEST(Sm90Rows, NoneIsFor8BitKvWithBatchInvariant) {
  Problem problem = problem_of(128, 128, DType::bf16, 1, Phase::decode);
  problem.shape.kv_type = DType::f8e4m3;
  problem.options.batch_invariant = true;
  EXPECT_NE(explain(problem).why_not.find("batch_invariant"), std::string::npos);
}

}  // namespace
}  // namespace headwise::cuda
