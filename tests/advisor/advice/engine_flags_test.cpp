#include "advisor/advice/engine_flags.h"

#include <gtest/gtest.h>

#include "advisor/advice/plan_name.h"
#include "tests/advisor/model/described_model.h"

// Options as the engines' documentation has them.

namespace headwise {
namespace {

std::string vllm(const char* model, const char* plan) {
  const EngineFlags flags = vllm_flags(described(model), parse_plan(plan, {}));
  EXPECT_NE(flags.flags.empty(), flags.why_not.empty());
  return flags.flags.empty() ? "cannot: " + flags.why_not : flags.flags;
}

std::string trtllm(const char* model, const char* plan, const char* hardware = "b200") {
  const EngineFlags flags =
      trtllm_flags(described(model), parse_plan(plan, {}), read_hardware(hardware), 32);
  EXPECT_NE(flags.flags.empty(), flags.why_not.empty());
  return flags.flags.empty() ? "cannot: " + flags.why_not : flags.flags;
}

TEST(EngineFlags, OfVllm) {
  EXPECT_EQ(vllm("llama-3.1-70b", "tp8"), "--tensor-parallel-size 8");
  EXPECT_EQ(vllm("llama-3.1-70b", "tp4pp2"), "--tensor-parallel-size 4 --pipeline-parallel-size 2");
  EXPECT_EQ(vllm("llama-3.1-8b", "tp2adp4"), "--tensor-parallel-size 2 --data-parallel-size 4");
  EXPECT_EQ(vllm("deepseek-r1", "adp8ep8"),
            "--tensor-parallel-size 1 --data-parallel-size 8 --enable-expert-parallel");
  EXPECT_EQ(vllm("deepseek-r1", "kvp8ep8"),
            "--tensor-parallel-size 8 --decode-context-parallel-size 8 --enable-expert-parallel");
  EXPECT_EQ(vllm("qwen3-235b-a22b", "tp4kvp2"),
            "--tensor-parallel-size 8 --decode-context-parallel-size 2");
}

TEST(EngineFlags, WhatVllmCannot) {
  EXPECT_NE(vllm("llama-3.1-70b", "tp4kvp2").find("tp must be 8"), std::string::npos);
  EXPECT_NE(vllm("deepseek-r1", "adp8ep4").find("nothing between"), std::string::npos);
  EXPECT_NE(vllm("llama-3.1-70b", "adp8tpff8").find("attention group"), std::string::npos);
}

TEST(EngineFlags, OfTensorRtLlm) {
  EXPECT_EQ(trtllm("llama-3.1-70b", "tp8"), "{tensor_parallel_size: 8}");
  EXPECT_EQ(trtllm("llama-3.1-70b", "tp4pp2"),
            "{tensor_parallel_size: 4, pipeline_parallel_size: 2}");
  EXPECT_EQ(trtllm("llama-3.1-8b", "tp2adp4"), "4 instances, each {tensor_parallel_size: 2}");
  EXPECT_EQ(trtllm("deepseek-r1", "tp8ep4"),
            "{tensor_parallel_size: 8, moe_tensor_parallel_size: 2, moe_expert_parallel_size: 4}");
  EXPECT_EQ(trtllm("deepseek-r1", "adp8ep8"),
            "{tensor_parallel_size: 8, enable_attention_dp: true, moe_tensor_parallel_size: 1, "
            "moe_expert_parallel_size: 8}");
  const std::string helix = trtllm("deepseek-r1", "kvp8ep8");
  EXPECT_NE(helix.find("context_parallel_size: 8, cp_config: {cp_type: HELIX, tokens_per_block: "
                       "32}, kv_cache_config: {tokens_per_block: 32}"),
            std::string::npos)
      << helix;
}

TEST(EngineFlags, WhatTensorRtLlmCannot) {
  EXPECT_NE(trtllm("llama-3.1-70b", "tp8kvp2").find("MLA"), std::string::npos);
  EXPECT_NE(trtllm("deepseek-r1", "kvp8ep8", "h200").find("Blackwell"), std::string::npos);
  EXPECT_NE(trtllm("gpt-oss-120b", "tp2adp4").find("within its groups"), std::string::npos);
}

}  // namespace
}  // namespace headwise
