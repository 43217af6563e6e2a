#include "advisor/engine_log/engine_words.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "advisor/engine_log/engine_log.h"

namespace headwise {
namespace {

// The engines' own fixed words; values are varied. docs/engine-logs.md: the same, in which files.
struct Seen {
  const char* versions;
  const char* header;
  const char* message;
  LogTopic topic;
  const char* value;
};

class FixedWordsOf : public testing::TestWithParam<Seen> {};

TEST_P(FixedWordsOf, AreRecognised) {
  const Seen& seen = GetParam();
  std::istringstream text(std::string(seen.header) + seen.message + "\n");
  const EngineLog log = read_engine_log(text);
  const LoggedValue* fact = log.find(seen.topic);
  ASSERT_NE(fact, nullptr) << seen.versions << ": " << seen.message;
  EXPECT_EQ(fact->value, seen.value) << seen.versions << ": " << seen.message;
  EXPECT_EQ(fact->line, 1);
}

using Topic = LogTopic;

INSTANTIATE_TEST_SUITE_P(
    Vllm, FixedWordsOf,
    testing::Values(
        Seen{"0.6.3.post1", "INFO 10-20 03:22:33 selector.py:141] ", "Using Flashinfer backend.",
             Topic::backend, "Flashinfer"},
        Seen{"0.6.3.post1, 0.8.5", "INFO 10-20 03:22:33 selector.py:115] ",
             "Using XFormers backend.", Topic::backend, "XFormers"},
        Seen{"0.6.3.post1 to 0.14.0", "INFO 10-20 03:22:33 api_server.py:528] ",
             "vLLM API server version 0.6.3.post1", Topic::version, "0.6.3.post1"},
        Seen{"0.6.3.post1", "INFO 10-20 03:22:33 llm_engine.py:238] ",
             "Initializing an LLM engine (v0.6.3) with config: model='a/b', "
             "tensor_parallel_size=4, kv_cache_dtype=fp8_e5m2",
             Topic::kv_type, "fp8_e5m2"},
        Seen{"0.6.3.post1", "WARNING 10-20 03:22:33 api_server.py:529] ",
             "args: Namespace(host='::', block_size=16, model='x')", Topic::page_size, "16"},
        Seen{"0.6.3.post1 to 0.10.2", "INFO 10-20 03:22:33 selector.py:261] ",
             "Cannot use FlashAttention-2 backend for head size 80.", Topic::head_dim, "80"},
        Seen{"0.8.5, 0.10.2", "INFO 08-21 12:00:00 [cuda.py:221] ",
             "Using Flash Attention backend on V1 engine.", Topic::backend, "Flash Attention"},
        Seen{"0.8.5, 0.10.2", "(EngineCore_0 pid=5) INFO 08-21 12:00:00 [cuda.py:184] ",
             "Using Triton MLA backend on V1 engine.", Topic::backend, "Triton MLA"},
        Seen{"0.8.5", "INFO 08-21 12:00:00 [llm_engine.py:241] ",
             "Initializing a V0 LLM engine (v0.8.5.post1) with config: model='m', "
             "dtype=torch.float16",
             Topic::dtype, "float16"},
        Seen{"0.10.2", "(EngineCore_0 pid=5) INFO 08-21 12:00:00 [cuda.py:342] ",
             "Using FlashInfer backend with HND KV cache layout on V1 engine by default for "
             "Blackwell (SM 10.0) GPUs.",
             Topic::backend, "FlashInfer"},
        Seen{"0.10.2", "(EngineCore_0 pid=5) INFO 08-21 12:00:00 [cuda.py:342] ",
             "Using FlashInfer backend with HND KV cache layout on V1 engine by default for "
             "Blackwell (SM 10.0) GPUs.",
             Topic::gpu_generation, "100"},
        Seen{"0.10.2", "INFO 08-21 12:00:00 [cuda.py:380] ",
             "Using FlexAttention backend for head_size=72 on V1 engine.", Topic::backend,
             "FlexAttention"},
        Seen{"0.10.2", "INFO 08-21 12:00:00 [cuda.py:380] ",
             "Using FlexAttention backend for head_size=72 on V1 engine.", Topic::head_dim, "72"},
        Seen{"0.11.2", "(EngineCore_DP0 pid=5) INFO 08-21 12:00:00 [cuda.py:428] ",
             "Using FLASHINFER backend.", Topic::backend, "FLASHINFER"},
        Seen{"0.11.2 to 0.33.0", "INFO 08-21 12:00:00 [cuda.py:448] ",
             "Using AttentionBackendEnum.FLASHMLA backend.", Topic::backend, "FLASHMLA"},
        Seen{"0.14.0 to 0.33.0", "(EngineCore pid=5) INFO 08-21 12:00:00.123 [cuda.py:509] ",
             "Using TRITON_ATTN attention backend out of potential backends: ['TRITON_ATTN', "
             "'FLEX_ATTENTION'].",
             Topic::backend, "TRITON_ATTN"},
        Seen{"0.14.0 to 0.33.0", "DEBUG 08-21 12:00:00 [platforms/cuda.py:468] ",
             "Some attention backends are not valid for cuda with "
             "AttentionSelectorConfig(head_size=96, dtype=torch.bfloat16, kv_cache_dtype=fp8, "
             "block_size=None, use_mla=False). Reasons: {}.",
             Topic::head_dim, "96"},
        Seen{"0.19.0 to 0.33.0", "INFO 08-21 12:00:00 [flash_attn.py:597] ",
             "Using FlashAttention version 3", Topic::flash_attention, "3"},
        Seen{"0.19.0 to 0.33.0", "INFO 08-21 12:00:00 [utils.py:299] ",
             " ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.21.0", Topic::version, "0.21.0"},
        Seen{"0.19.0 to 0.33.0", "INFO 08-21 12:00:00 [startup.py:20] ",
             "  █▄█▀ █     █     █     █  model   org/Name-7B", Topic::model, "org/Name-7B"},
        Seen{"0.19.0 to 0.33.0", "INFO 08-21 12:00:00 [api_utils.py:325] ",
             "vLLM server version 0.26.0, serving model a/b", Topic::version, "0.26.0"},
        Seen{"0.19.0 to 0.33.0", "INFO 08-21 12:00:00 [interface.py:470] ",
             "Setting kv cache block size to 64 for FLASHMLA backend.", Topic::page_size, "64"},
        Seen{"0.8.5 to 0.14.0", "INFO 08-21 12:00:00 [cuda.py:180] ",
             "Forcing kv cache block size to 128 for CUTLASS_MLA backend.", Topic::page_size,
             "128"},
        Seen{"0.10.2 to 0.33.0", "INFO 08-21 12:00:00 [config.py:391] ",
             "Setting attention block size to 528 tokens to ensure that attention page size is >= "
             "mamba page size.",
             Topic::page_size, "528"},
        Seen{"0.10.2 to 0.33.0", "INFO 08-21 12:00:00 [utils.py:233] ",
             "non-default args: {'model': 'a/b', 'block_size': 32, 'enforce_eager': True}",
             Topic::page_size, "32"},
        Seen{"0.6.3.post1 to 0.33.0", "INFO 08-21 12:00:00 [cache.py:175] ",
             "Using fp8_e4m3 data type to store kv cache. It reduces the GPU memory footprint",
             Topic::kv_type, "fp8_e4m3"},
        Seen{"0.19.0", "INFO 08-21 12:00:00 [mla_attention.py:352] ",
             "Using DeepSeek's fp8_ds_mla KV cache format. To use standard", Topic::kv_type,
             "fp8_ds_mla"},
        Seen{"0.6.3.post1 to 0.33.0", "WARNING 08-21 12:00:00 [kv_cache.py:109] ",
             "Using KV cache scaling factor 1.0 for fp8_e4m3. If this", Topic::kv_scale, "1.0"},
        Seen{"0.8.5 to 0.33.0", "WARNING 08-21 12:00:00 [fused_moe.py:669] ",
             "Using default MoE config. Performance might be sub-optimal! Config file not found at "
             "/x/y.z/E=8,N=7168,device_name=NVIDIA_H20.json",
             Topic::gpu, "NVIDIA_H20"},
        Seen{"0.8.5 to 0.33.0", "INFO 08-21 12:00:00 [fp8_utils.py:423] ",
             "Using configuration from /a/N=1,K=2,device_name=NVIDIA_H100_80GB_HBM3,dtype=fp8.json "
             "for W8A8 Block FP8 kernel.",
             Topic::gpu, "NVIDIA_H100_80GB_HBM3"}));

INSTANTIATE_TEST_SUITE_P(
    Sglang, FixedWordsOf,
    testing::Values(
        Seen{"0.4.3.post4", "[2025-03-01 01:02:03 TP0] ",
             "MLA optimization is turned on. Use flashinfer mla backend.", Topic::backend,
             "flashinfer mla"},
        Seen{"0.4.3.post4 to 0.5.3.post3", "[2025-03-01 01:02:03 TP0] ",
             "MLA optimization is turned on. Use triton backend.", Topic::latent, "True"},
        Seen{"0.4.6.post5", "[2025-05-02 16:13:41 TP3] ",
             "Attention backend not set. Use triton backend by default.", Topic::backend, "triton"},
        Seen{"0.4.10.post2 to 0.5.6.post2", "[2025-09-02 16:13:41] ",
             "Attention backend not explicitly specified. Use fa3 backend by default.",
             Topic::backend, "fa3"},
        Seen{"0.5.9, 0.5.20", "[2026-02-18 03:19:27] INFO server_args.py:1830: ",
             "Attention backend not specified. Use flashinfer backend by default.", Topic::backend,
             "flashinfer"},
        Seen{"0.5.3.post3 to 0.5.20", "[2026-02-18 03:19:27] ",
             "Use trtllm_mla as attention backend on sm100 for DeepseekV3ForCausalLM",
             Topic::backend, "trtllm_mla"},
        Seen{"0.5.3.post3 to 0.5.20", "[2026-02-18 03:19:27] ",
             "Use trtllm_mla as attention backend on sm100 for DeepseekV3ForCausalLM",
             Topic::gpu_generation, "100"},
        Seen{"0.4.10.post2 to 0.5.20", "[2026-02-18 03:19:27 DP1 TP2 EP2] ",
             "Using hybrid attention backend for decode and prefill: decode_backend=flashmla, "
             "prefill_backend=fa3.",
             Topic::decode_backend, "flashmla"},
        Seen{"0.4.10.post2 to 0.5.20", "[2026-02-18 03:19:27 DP1 TP2 EP2] ",
             "Using hybrid attention backend for decode and prefill: decode_backend=flashmla, "
             "prefill_backend=fa3.",
             Topic::prefill_backend, "fa3"},
        Seen{"0.4.6.post5 to 0.5.20", "[2026-02-18 03:19:27 TP0] ",
             "FlashAttention3 only supports fp8_e4m3 if using FP8; Setting attention backend to "
             "triton.",
             Topic::backend, "triton"},
        Seen{"0.5.3.post3 to 0.5.9", "[2026-02-18 03:19:27 TP0] ",
             "Using KV cache dtype: torch.float8_e4m3fn", Topic::kv_type, "float8_e4m3fn"},
        Seen{"0.4.3.post4 to 0.5.20", "[2026-02-18 03:19:27 TP0] ",
             "Using FP8 KV cache but no scaling factors provided. Defaulting to", Topic::kv_scale,
             "1.0"},
        Seen{"0.4.3.post4 to 0.5.9", "[2026-02-18 03:19:27] INFO engine.py:156: ",
             "server_args=ServerArgs(model_path='a/b', page_size=64, tp_size=16)",
             Topic::tensor_parallel, "16"},
        Seen{"0.5.20", "[2026-08-18 03:19:27] ",
             "server_args={'model_path': 'a/b', 'page_size': 256, 'tp_size': 2}", Topic::page_size,
             "256"},
        Seen{"0.4.6.post5 to 0.5.20", "[2026-08-18 03:19:27 TP0] ",
             "Using MoE kernel config from /a/E=64,N=768,device_name=NVIDIA_B200.json.", Topic::gpu,
             "NVIDIA_B200"}));

INSTANTIATE_TEST_SUITE_P(
    TensorrtLlm, FixedWordsOf,
    testing::Values(
        Seen{"083a74156176", "[TensorRT-LLM] ", "TensorRT LLM version: 1.4.0 (backend: cuda)",
             Topic::version, "1.4.0"},
        Seen{"1.1.0rc3", "[TensorRT-LLM] ", "TensorRT-LLM version: 1.1.0rc3", Topic::version,
             "1.1.0rc3"},
        Seen{"1.2.0rc2, 1.3.0rc0", "[TensorRT-LLM] ", "TensorRT LLM version: 1.2.0rc2",
             Topic::version, "1.2.0rc2"},
        Seen{"1.1.0rc3", "[12/20/2025-04:20:19] [TRT-LLM] [I] ",
             "PyTorchConfig(use_cuda_graph=True, attn_backend='FLASHINFER', moe_backend='CUTLASS')",
             Topic::backend, "FLASHINFER"},
        Seen{"1.1.0rc3, 004b733e0ed7", "[12/20/2025-04:20:19] [TRT-LLM] [RANK 3] [I] ",
             "Validating KV Cache config against kv_cache_dtype=\"fp8\"", Topic::kv_type, "fp8"},
        Seen{"1.1.0rc3 to 1.3.0rc0", "[TensorRT-LLM][INFO] ", "Number of tokens per block: 64.",
             Topic::page_size, "64"},
        Seen{"1.2.0rc2, 1.3.0rc0", "[TensorRT-LLM][INFO] ",
             "Max KV cache blocks per sequence: 288 [window size=8224], tokens per block=16, "
             "primary blocks=257",
             Topic::page_size, "16"},
        Seen{"1.2.0rc5", "[12/20/2025-03:36:05] [TRT-LLM AUTO-DEPLOY] [RANK 2] [I] ",
             "Set tokens_per_block to 128.", Topic::page_size, "128"},
        Seen{"0.8.0, 0.12.0", "[TensorRT-LLM][INFO] ",
             "Engine version 0.17.0.post1 found in the config file, assuming engine(s) built by "
             "new builder API.",
             Topic::version, "0.17.0.post1"},
        Seen{"0.18.0.dev, 1.1.0", "[03/23/2025-17:30:24] [TRT-LLM] [I] ", "Set dtype to float16.",
             Topic::dtype, "float16"},
        Seen{"1.1.0", "[04/17/2026-08:21:45] [TRT-LLM] [I] ", "Set tokens_per_block to 64.",
             Topic::page_size, "64"},
        Seen{"1.1.0rc3", "[12/20/2025-04:20:19] [TRT-LLM] [I] ",
             "KV cache quantization set to \"nvfp4\". Using checkpoint KV quantization.",
             Topic::kv_type, "nvfp4"},
        Seen{
            "1.1.0rc3", "[12/20/2025-04:21:51] [TRT-LLM] [I] ",
            "Peak memory during memory usage profiling (torch + non-torch): 91.46 GiB, available "
            "KV cache memory when calculating max tokens: 41.11 GiB, fraction is set 0.85, kv size "
            "is 35136. device total memory 139.81 GiB, , tmp kv_mem 0.56 GiB",
            Topic::kv_token_bytes, "35136"},
        Seen{
            "newer", "[12/20/2025-04:21:51] [TRT-LLM] [RANK 0] [I] ",
            "Peak memory during memory usage profiling (torch + non-torch): 9.1 GiB, available KV "
            "cache memory when calculating max tokens: 41.11 GiB, fraction is set 0.9, kv size per "
            "token is 73728.0. device total memory 79.1 GiB",
            Topic::kv_token_bytes, "73728"},
        Seen{"0.12.0 to 1.3.0rc0", "[TensorRT-LLM][INFO] ",
             "[MemUsageChange] Allocated 5.95 GiB for max tokens in paged KV cache (86720).",
             Topic::kv_tokens, "86720"},
        Seen{"0.12.0 to 1.3.0rc0", "[TensorRT-LLM][INFO] ",
             "[MemUsageChange] Allocated 62.99 GiB for max tokens in paged KV cache (294848).",
             Topic::kv_gib, "62.99"},
        Seen{"000429d57d42", "[12/20/2025-04:20:19] [TRT-LLM] [W] ",
             "Disabling block reuse for FLASHINFER backend", Topic::backend, "FLASHINFER"},
        Seen{"000429d57d42", "[12/20/2025-04:20:19] [TRT-LLM] [I] ",
             "Change tokens_per_block to: 64 for using FlashMLA", Topic::decode_backend,
             "FLASHMLA"},
        Seen{"000429d57d42", "[12/20/2025-04:20:19] [TRT-LLM] [I] ",
             "Change tokens_per_block to: 64 for using FlashMLA", Topic::page_size, "64"},
        Seen{"000429d57d42", "[12/20/2025-04:20:19] [TRT-LLM] [W] ",
             "KV cache reuse for MLA can only be enabled on SM90/SM100/SM103/SM120, disable "
             "enable_block_reuse for SM89",
             Topic::gpu_generation, "89"},
        Seen{"000429d57d42", "[12/20/2025-04:20:19] [TRT-LLM] [W] ",
             "KV cache reuse for MLA can only be enabled without KV cache quantization or with FP8 "
             "quantization, disable enable_block_reuse for KV cache quant algorithm: NVFP4",
             Topic::latent, "True"},
        Seen{"000429d57d42", "[12/20/2025-04:20:19] [TRT-LLM] [W] ",
             "Chunked Prefill for MLA can only be enabled on SM90/SM100/SM103/SM120, disable "
             "enable_chunked_context for SM121",
             Topic::gpu_generation, "121"},
        Seen{"a log of SM 8.7", "[TensorRT-LLM][WARNING] ",
             "Fall back to unfused MHA because of unsupported head size 80 in sm_87",
             Topic::head_dim, "80"},
        Seen{"a log of SM 8.7", "[TensorRT-LLM][WARNING] ",
             "Fall back to unfused MHA because of unsupported head size 128 in sm_87",
             Topic::gpu_generation, "87"},
        Seen{"fused_multihead_attention", "[TensorRT-LLM][WARNING] ",
             "Fall back to unfused MHA for data_type = bf16, headSize = 72 in sm_103.",
             Topic::gpu_generation, "103"}));

}  // namespace
}  // namespace headwise
