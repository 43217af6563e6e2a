#include "advisor/engine_log/engine_findings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "advisor/model/model_reader.h"
#include "headwise/error.h"
#include "tests/advisor/engine_log/engine_logs.h"

namespace headwise {
namespace {

EngineLog read(const std::string& text) {
  std::istringstream log(text);
  return read_engine_log(log);
}

const Finding* find(const EngineCheck& result, const std::string& subject) {
  const auto found = std::ranges::find(result.findings, subject, &Finding::subject);
  return found == result.findings.end() ? nullptr : &*found;
}

/// The verdict on `subject`; "none" where there is no finding.
std::string verdict(const EngineCheck& result, const std::string& subject) {
  const Finding* finding = find(result, subject);
  return finding == nullptr ? "none" : name_of(finding->verdict);
}

EngineCheck check_vllm(const std::string& backend, const std::string& gpu,
                       const std::string& config = "kv_cache_dtype=auto",
                       const std::string& more = "") {
  return check_engine(read(logs::vllm("0.19.0", config, backend) + more), {.gpu = gpu});
}

constexpr const char* kFlash = "Using FLASH_ATTN backend.";

std::string flash_version(int version) {
  return "INFO 08-21 12:00:00 [flash_attn.py:597] Using FlashAttention version " +
         std::to_string(version) + "\n";
}

TEST(EngineFindings, AKernelOfTheGpusGenerationFits) {
  const EngineCheck result = check_vllm(kFlash, "H100", "kv_cache_dtype=auto", flash_version(3));
  EXPECT_EQ(verdict(result, "kernel"), "fits");
  EXPECT_EQ(verdict(result, "KV type"), "fits");
  EXPECT_EQ(result.verdict, Verdict::fits);
  EXPECT_NE(find(result, "kernel")->source, "");
  EXPECT_EQ(find(result, "kernel")->lines, std::vector<std::int64_t>{4});
}

TEST(EngineFindings, AnOlderGenerationsIsWorse) {
  const EngineCheck result = check_vllm(kFlash, "H100", "kv_cache_dtype=auto", flash_version(2));
  EXPECT_EQ(verdict(result, "kernel"), "worse than possible");
  EXPECT_EQ(result.verdict, Verdict::worse);
  EXPECT_EQ(verdict(check_vllm(kFlash, "A100", "x=1", flash_version(2)), "kernel"), "fits");
  EXPECT_EQ(verdict(check_vllm(kFlash, "RTX 5090", "x=1", flash_version(2)), "kernel"), "fits");
  EXPECT_EQ(verdict(check_vllm("Using TRITON_ATTN backend.", "H200"), "kernel"),
            "worse than possible");
  EXPECT_EQ(verdict(check_vllm("Using FLASHINFER backend.", "B200"), "kernel"), "fits");
}

TEST(EngineFindings, AKernelThatTheGpuCannotRunIsWrong) {
  EXPECT_EQ(verdict(check_vllm(kFlash, "B200", "x=1", flash_version(3)), "kernel"), "wrong");
  EXPECT_EQ(verdict(check_vllm("Using CUTLASS_MLA backend.", "H100"), "kernel"), "wrong");
  EXPECT_EQ(verdict(check_vllm("Using FLASHMLA backend.", "L40S"), "kernel"), "wrong");
}

TEST(EngineFindings, WhatIsNotSaidIsNotGuessed) {
  const EngineCheck unversioned = check_vllm(kFlash, "H100");
  EXPECT_EQ(verdict(unversioned, "kernel"), "cannot tell");
  EXPECT_EQ(unversioned.verdict, Verdict::cannot_tell);
  const EngineCheck nowhere = check_vllm(kFlash, "", "kv_cache_dtype=auto", flash_version(3));
  EXPECT_EQ(verdict(nowhere, "kernel"), "cannot tell");
  EXPECT_EQ(nowhere.not_found,
            (std::vector<std::string>{"model", "gpu", "page_size", "tensor_parallel", "head_dim",
                                      "kv_heads"}));
  EXPECT_EQ(verdict(check_vllm("Using SOMETHING_NEW backend.", "H100"), "kernel"), "cannot tell");
  EXPECT_EQ(verdict(nowhere, "page size"), "none");
  EXPECT_EQ(verdict(nowhere, "head dimension"), "none");
  EXPECT_EQ(verdict(nowhere, "KV heads"), "none");
}

TEST(EngineFindings, TheLogsGpuCountsUnlessTheUserNamesOne) {
  const std::string gpu =
      "WARNING 08-21 12:00:00 [fused_moe.py:1] Using default MoE config. Config file not found at "
      "/a/E=8,device_name=NVIDIA_H200.json\n";
  const EngineCheck result = check_vllm(kFlash, "", "x=1", flash_version(3) + gpu);
  EXPECT_EQ(verdict(result, "kernel"), "fits");
  EXPECT_EQ(verdict(check_vllm(kFlash, "B200", "x=1", flash_version(3) + gpu), "kernel"), "wrong");
  EXPECT_THROW(check_vllm(kFlash, "H9000"), Error);
}

TEST(EngineFindings, EightBitKv) {
  const auto kv = [](const std::string& backend, const std::string& gpu, const std::string& type,
                     const std::string& more = "") {
    return verdict(check_vllm(backend, gpu, "kv_cache_dtype=" + type, more), "KV type");
  };
  EXPECT_EQ(kv(kFlash, "H100", "fp8", flash_version(3)), "fits");
  EXPECT_EQ(kv(kFlash, "H100", "fp8_e5m2", flash_version(3)), "wrong");
  EXPECT_EQ(kv(kFlash, "", "fp8", flash_version(2)), "wrong");
  EXPECT_EQ(kv(kFlash, "A100", "fp8"), "wrong");
  EXPECT_EQ(kv(kFlash, "", "fp8"), "cannot tell");
  EXPECT_EQ(kv(kFlash, "", "bfloat16"), "fits");
  EXPECT_EQ(kv("Using FLASHINFER backend.", "L40S", "fp8_e4m3"), "fits");
  EXPECT_EQ(kv("Using FLEX_ATTENTION backend.", "H100", "fp8"), "wrong");
  EXPECT_EQ(kv("Using TRITON_ATTN backend.", "A100", "fp8"), "cannot tell");
  EXPECT_EQ(kv("Using FLASHINFER backend.", "H100", "turboquant"), "cannot tell");
}

TEST(EngineFindings, TheCheckpointsKvTypeIsNotSaid) {
  const EngineCheck result = check_engine(
      read(logs::tensorrt_llm("kv_cache_config=KvCacheConfig(dtype='auto', tokens_per_block=32)")));
  EXPECT_EQ(verdict(result, "KV type"), "cannot tell");
}

TEST(EngineFindings, Pages) {
  const auto page = [](const std::string& backend, const std::string& arguments) {
    return verdict(check_engine(read(logs::sglang(arguments, backend)), {.gpu = "B200"}),
                   "page size");
  };
  EXPECT_EQ(page("fa3", "page_size=1"), "fits");
  EXPECT_EQ(page("flashmla", "page_size=64"), "fits");
  EXPECT_EQ(page("flashmla", "page_size=16"), "wrong");
  EXPECT_EQ(page("trtllm_mha", "page_size=32"), "fits");
  EXPECT_EQ(page("trtllm_mha", "page_size=1"), "wrong");
  EXPECT_EQ(page("trtllm_mha", "page_size=128"), "wrong");
  EXPECT_EQ(page("triton", "page_size=1"), "none");
  const std::string small =
      "INFO 08-21 12:00:00 [utils.py:1] non-default args: {'block_size': 16}\n";
  const EngineCheck result =
      check_engine(read(small + "INFO 08-21 12:00:00 [cuda.py:1] Using FLASH_ATTN backend.\n" +
                        flash_version(4)),
                   {.gpu = "B200"});
  EXPECT_EQ(verdict(result, "page size"), "worse than possible");
}

// Llama-3.1-70B's shape, as its makers published it, with other numbers of heads.
ModelDescription llama(int kv_heads, int head_dim = 128) {
  return read_model_description(
      R"({"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672,
          "num_hidden_layers": 80, "num_attention_heads": 64, "vocab_size": 128256,
          "max_position_embeddings": 131072, "hidden_act": "silu", "head_dim": )" +
      std::to_string(head_dim) + R"(, "num_key_value_heads": )" + std::to_string(kv_heads) + "}");
}

TEST(EngineFindings, KvHeadsOverGpus) {
  const auto spread = [](int kv_heads, const std::string& arguments) {
    const ModelDescription model = llama(kv_heads);
    return check_engine(read(logs::sglang(arguments, "fa3")), {.gpu = "H100", .model = &model});
  };
  EXPECT_EQ(verdict(spread(8, "tp_size=8"), "KV heads"), "fits");
  const EngineCheck twice = spread(4, "tp_size=8");
  EXPECT_EQ(verdict(twice, "KV heads"), "worse than possible");
  EXPECT_NE(find(twice, "KV heads")->reason.find("held 2 times"), std::string::npos);
  EXPECT_EQ(verdict(spread(4, "tp_size=8, dp_size=8, enable_dp_attention=True"), "KV heads"),
            "fits");
  EXPECT_EQ(verdict(spread(4, "dp_size=8"), "KV heads"), "none");
}

TEST(EngineFindings, LatentKvIsHeldByEachGpu) {
  const auto latent = [](const std::string& config) {
    return verdict(check_vllm("Using FLASHMLA backend.", "H200", config), "KV heads");
  };
  EXPECT_EQ(latent("tensor_parallel_size=8"), "worse than possible");
  EXPECT_EQ(latent("tensor_parallel_size=1, data_parallel_size=8"), "fits");
  EXPECT_EQ(latent("tensor_parallel_size=8, decode_context_parallel_size=8"), "fits");
  const EngineCheck result =
      check_engine(read(logs::tensorrt_llm("tensor_parallel_size=8 enable_attention_dp=True")), {});
  EXPECT_EQ(verdict(result, "KV heads"), "none");
}

TEST(EngineFindings, HeadDimensions) {
  const auto dims = [](const std::string& backend, int head_dim) {
    const ModelDescription model = llama(8, head_dim);
    return verdict(check_engine(read(logs::vllm("0.19.0", "x=1", backend)), {.model = &model}),
                   "head dimension");
  };
  EXPECT_EQ(dims(kFlash, 128), "fits");
  EXPECT_EQ(dims(kFlash, 80), "fits");
  EXPECT_EQ(dims(kFlash, 512), "wrong");
  EXPECT_EQ(dims("Using FLASHINFER backend.", 256), "fits");
  EXPECT_EQ(dims("Using FLASHINFER backend.", 80), "wrong");
}

TEST(EngineFindings, PhasesAreJudgedApart) {
  const EngineCheck result = check_engine(
      read(logs::sglang("prefill_attention_backend='fa3', decode_attention_backend='triton'",
                        "fa3")),
      {.gpu = "H100"});
  ASSERT_EQ(std::ranges::count(result.findings, "kernel", &Finding::subject), 2);
  EXPECT_EQ(result.findings[0].verdict, Verdict::fits);
  EXPECT_NE(result.findings[0].statement.find("(prefill)"), std::string::npos);
  EXPECT_EQ(result.verdict, Verdict::worse);
}

TEST(EngineFindings, TheEnginesOwnWordsCount) {
  const EngineCheck setting = check_vllm(
      "Using TRITON_ATTN backend.", "H100", "kv_cache_dtype=auto",
      "WARNING 08-21 12:00:00 [cuda.py:325] --block-size 8 precluded higher-priority backend(s) "
      "FLASH_ATTN. Using TRITON_ATTN instead, which may result in reduced performance.\n");
  EXPECT_EQ(verdict(setting, "setting"), "worse than possible");
  EXPECT_NE(find(setting, "setting")->reason.find("--block-size 8"), std::string::npos);
  const EngineCheck old = check_vllm(
      "Using XFormers backend.", "T4", "kv_cache_dtype=auto",
      "INFO 08-21 12:00:00 [cuda.py:241] Cannot use FlashAttention-2 backend for Volta and Turing "
      "GPUs.\n");
  EXPECT_EQ(verdict(old, "passed over"), "cannot tell");
  EXPECT_EQ(old.verdict, Verdict::fits);
  const EngineCheck scale = check_vllm(kFlash, "H100", "kv_cache_dtype=fp8",
                                       flash_version(3) +
                                           "WARNING 08-21 12:00:00 [kv_cache.py:1] Using KV cache "
                                           "scaling factor 1.0 for fp8_e4m3.\n");
  EXPECT_EQ(verdict(scale, "KV scale"), "worse than possible");
}

TEST(EngineFindings, EveryRuleHasAReasonAndASource) {
  for (const GenerationRule& rule : generation_rules()) {
    EXPECT_LE(rule.from, rule.to) << rule.reason;
    EXPECT_FALSE(rule.reason.empty() || rule.source.empty()) << name_of(rule.kernel);
  }
  for (const KvRule& rule : kv_rules())
    EXPECT_FALSE(rule.reason.empty() || rule.source.empty()) << name_of(rule.kernel);
  for (const PageRule& rule : page_rules())
    EXPECT_FALSE(rule.reason.empty() || rule.source.empty()) << name_of(rule.kernel);
  for (const HeadDimRule& rule : head_dim_rules())
    EXPECT_FALSE(rule.source.empty()) << name_of(rule.kernel);
}

}  // namespace
}  // namespace headwise
