#include "advisor/engine_log/engine_words.h"

#include <array>

namespace headwise {
namespace {

using enum Reading;
using Topic = LogTopic;

constexpr ServingEngine kVllm = ServingEngine::vllm;
constexpr ServingEngine kSglang = ServingEngine::sglang;
constexpr ServingEngine kTrtllm = ServingEngine::tensorrt_llm;

// vLLM's logger repeats its header before each line of a message, so that only the file tells what
// the engine says from what a prompt quotes.
constexpr std::string_view kChoosers = " cuda.py selector.py rocm.py xpu.py cpu.py ";
constexpr std::string_view kServers =
    " api_server.py utils.py api_utils.py startup.py run_batch.py ";
constexpr std::string_view kEngines = " core.py llm_engine.py ";
constexpr std::string_view kFlash = " flash_attn.py fa_utils.py ";
constexpr std::string_view kTuned = " fused_moe.py fp8_utils.py int8_utils.py ";
constexpr std::string_view kKv = " cache.py config.py ";

constexpr FixedWords kWords[] = {
    // vLLM: start
    {kVllm, kServers, last, "vLLM API server version ", "", Topic::version, 1},
    {kVllm, kServers, value, "vLLM server version ", ",", Topic::version, 1},
    {kVllm, kServers, last, "version ", "", Topic::version, 1},  // beside the logo
    {kVllm, kServers, last, "model   ", "", Topic::model},
    {kVllm, kServers, fields, "non-default args: {", "", {}, 2},
    {kVllm, kServers, fields, "args: Namespace(", "", {}, 2},
    {kVllm, kEngines, fields_after, "Initializing a V1 LLM engine (v",
     ") with config: ", Topic::version, 3},
    {kVllm, kEngines, fields_after, "Initializing a V0 LLM engine (v",
     ") with config: ", Topic::version, 3},
    {kVllm, kEngines, fields_after, "Initializing an LLM engine (v",
     ") with config: ", Topic::version, 3},
    {kVllm, " gpu_model_runner.py ", draft, "Loading drafter model", ""},
    // vLLM: backend
    {kVllm, kChoosers, value, "Using ",
     " attention backend out of potential backends: ", Topic::backend},
    {kVllm, kChoosers, last, "Using ", " backend on V1 engine.", Topic::backend},
    {kVllm, kChoosers, last, "Using ", " backend.", Topic::backend},
    {kVllm, kChoosers, value, "Using ",
     " backend with HND KV cache layout on V1 engine by default for Blackwell (SM 10.0) GPUs.",
     Topic::backend},
    {kVllm, kChoosers, constant,
     "Using FlashInfer backend with HND KV cache layout on V1 engine by default for Blackwell (SM "
     "10.0) GPUs.",
     "100", Topic::gpu_generation},
    {kVllm, kChoosers, value, "Using ", " backend for head_size=", Topic::backend},
    {kVllm, kChoosers, value, "Using ", " backend for dtype=", Topic::backend},
    {kVllm, kChoosers, value, "Using FlexAttention backend for head_size=", " on V1 engine.",
     Topic::head_dim},
    {kVllm, kFlash, last, "Using FlashAttention version ", "", Topic::flash_attention},
    {kVllm, kChoosers, fields,
     "Some attention backends are not valid for cuda with AttentionSelectorConfig(", ""},
    // vLLM: backends that it did not take
    {kVllm, kChoosers, whole, "Cannot use FlashAttention-2 backend for Volta and Turing", "",
     Topic::passed_over},
    {kVllm, kChoosers, whole, "Cannot use FlashAttention-2 backend for head size ", "",
     Topic::passed_over},
    {kVllm, kChoosers, whole, "Cannot use FlashAttention-2 backend due to sliding window", "",
     Topic::passed_over},
    {kVllm, kChoosers, whole, "Cannot use FlashAttention-2 backend for dtype ", "",
     Topic::costly_setting},
    {kVllm, kChoosers, whole, "Cannot use FlashAttention-2 backend for block size ", "",
     Topic::costly_setting},
    {kVllm, kChoosers, whole, "Cannot use FlashAttention-2 backend for FP8 KV cache", "",
     Topic::costly_setting},
    {kVllm, kChoosers, whole, "Cannot use FlashAttention backend for FP8 KV cache", "",
     Topic::costly_setting},
    {kVllm, kChoosers, whole, "Cannot use FlashAttention-2 backend because the ", "",
     Topic::costly_setting},
    {kVllm, kChoosers, last, "Cannot use FlashAttention-2 backend for head size ", ".",
     Topic::head_dim},
    {kVllm, kChoosers, whole, "FlashMLA backend is not supported for block size ", "",
     Topic::costly_setting},
    {kVllm, kChoosers, whole, "FlashInfer failed to import for V1 engine on Blackwell", "",
     Topic::costly_setting},
    {kVllm, kChoosers, whole, "--block-size ", "", Topic::costly_setting},
    {kVllm, kFlash, whole, "Cannot use FA version ", "", Topic::passed_over},
    {kVllm, kFlash, whole, "FA4 on Blackwell does not support head_size=", "", Topic::passed_over},
    {kVllm, kFlash, value, "FA4 on Blackwell does not support head_size=", " ", Topic::head_dim},
    // vLLM: KV
    {kVllm, kKv, value, "Using ", " data type to store kv cache", Topic::kv_type},
    {kVllm, " mla_attention.py attention.py ", constant,
     "Using DeepSeek's fp8_ds_mla KV cache format", "fp8_ds_mla", Topic::kv_type},
    {kVllm, " kv_cache.py ", constant, "Using KV cache scaling factor 1.0 for fp8_e4m3", "1.0",
     Topic::kv_scale},
    {kVllm, " interface.py ", value, "Setting kv cache block size to ", " for ", Topic::page_size},
    {kVllm, kChoosers, value, "Forcing kv cache block size to ", " for ", Topic::page_size},
    {kVllm, " config.py interface.py ", value, "Setting attention block size to ", " tokens",
     Topic::page_size},
    {kVllm, kTuned, within, "Using ", "device_name=", Topic::gpu},
    // SGLang
    {kSglang, "", fields, "server_args=ServerArgs(", "", {}, 1},
    {kSglang, "", fields, "server_args={", "", {}, 1},
    {kSglang, "", last, "Attention backend not set. Use ", " backend by default.", Topic::backend},
    {kSglang, "", last, "Attention backend not specified. Use ", " backend by default.",
     Topic::backend},
    {kSglang, "", last, "Attention backend not explicitly specified. Use ", " backend by default.",
     Topic::backend},
    {kSglang, "", last, "MLA optimization is turned on. Use ", " backend.", Topic::backend},
    {kSglang, "", constant, "MLA optimization is turned on. Use ", "True", Topic::latent},
    {kSglang, "", value, "Use ", " as attention backend on sm", Topic::backend},
    {kSglang, "", constant, "Use trtllm_mla as attention backend on sm100 for ", "100",
     Topic::gpu_generation},
    {kSglang, "", constant, "Use trtllm_mha as attention backend on sm100 for ", "100",
     Topic::gpu_generation},
    {kSglang, "", value, "Using hybrid attention backend for decode and prefill: decode_backend=",
     ",", Topic::decode_backend},
    {kSglang, "", within, "Using hybrid attention backend for decode and prefill: ",
     "prefill_backend=", Topic::prefill_backend},
    {kSglang, "", whole, "FlashAttention3 only supports fp8_e4m3 if using FP8; ", "",
     Topic::costly_setting},
    {kSglang, "", constant,
     "FlashAttention3 only supports fp8_e4m3 if using FP8; Setting attention backend to triton.",
     "triton", Topic::backend},
    {kSglang, "", last, "Using KV cache dtype: ", "", Topic::kv_type},
    {kSglang, "", constant, "Using FP8 KV cache but no scaling factors provided.", "1.0",
     Topic::kv_scale},
    {kSglang, "", within, "Using ", "device_name=", Topic::gpu},
    // TensorRT-LLM
    {kTrtllm, "", last, "TensorRT-LLM version: ", "", Topic::version},
    {kTrtllm, "", last, "TensorRT LLM version: ", "", Topic::version},
    {kTrtllm, "", mark, "Using LLM with PyTorch backend", "", {}, 1},
    {kTrtllm, "", mark, "Using LLM with AutoDeploy backend", "", {}, 1},
    {kTrtllm, "", mark, "Using LLM with TensorRT backend", "", {}, 1},
    {kTrtllm, "", value, "Engine version ", " found in the config file", Topic::version},
    {kTrtllm, "", last, "Set dtype to ", ".", Topic::dtype},
    {kTrtllm, "", last, "Set tokens_per_block to ", ".", Topic::page_size},
    {kTrtllm, "", fields, "PyTorchConfig(", ""},
    {kTrtllm, "", print_next, "LLM Args:", ""},
    {kTrtllm, "", last, "Validating KV Cache config against kv_cache_dtype=\"", "\"",
     Topic::kv_type},
    {kTrtllm, "", last, "Number of tokens per block: ", ".", Topic::page_size},
    {kTrtllm, "", within,
     "Max KV cache blocks per sequence: ", "tokens per block=", Topic::page_size},
    {kTrtllm, "", value, "KV cache quantization set to \"", "\". ", Topic::kv_type},
    {kTrtllm, "", within, "Peak memory during memory usage profiling ", ", kv size is ",
     Topic::kv_token_bytes},
    {kTrtllm, "", within, "Peak memory during memory usage profiling ", ", kv size per token is ",
     Topic::kv_token_bytes},
    {kTrtllm, "", value, "[MemUsageChange] Allocated ", " GiB for max tokens in paged KV cache (",
     Topic::kv_gib},
    {kTrtllm, "", within, "[MemUsageChange] Allocated ", " GiB for max tokens in paged KV cache (",
     Topic::kv_tokens},
    // TensorRT-LLM: kernels
    {kTrtllm, "", last, "Disabling block reuse for ", " backend", Topic::backend},
    {kTrtllm, "", last, "Change tokens_per_block to: ", " for using FlashMLA", Topic::page_size},
    {kTrtllm, "", constant, "Change tokens_per_block to: 64 for using FlashMLA", "FLASHMLA",
     Topic::decode_backend},
    {kTrtllm, "", constant, "KV cache reuse for MLA ", "True", Topic::latent},
    {kTrtllm, "", within, "KV cache reuse for MLA ", ", disable enable_block_reuse for SM",
     Topic::gpu_generation},
    {kTrtllm, "", constant, "Chunked Prefill for MLA ", "True", Topic::latent},
    {kTrtllm, "", within, "Chunked Prefill for MLA ", ", disable enable_chunked_context for SM",
     Topic::gpu_generation},
    {kTrtllm, "", whole, "Fall back to unfused MHA for ", "", Topic::passed_over},
    {kTrtllm, "", whole, "Fall back to unfused MHA because of unsupported head size ", "",
     Topic::passed_over},
    {kTrtllm, "", value, "Fall back to unfused MHA because of unsupported head size ", " in sm_",
     Topic::head_dim},
    {kTrtllm, "", within, "Fall back to unfused MHA ", " in sm_", Topic::gpu_generation},
    {kTrtllm, "", whole, "Fall back to unfused MHA because of unsupported data type", "",
     Topic::costly_setting},
};

constexpr FieldName kFields[] = {
    {kVllm, "model", Topic::model},
    {kVllm, "dtype", Topic::dtype},
    {kVllm, "tensor_parallel_size", Topic::tensor_parallel},
    {kVllm, "data_parallel_size", Topic::data_parallel},
    {kVllm, "decode_context_parallel_size", Topic::context_parallel},
    {kVllm, "kv_cache_dtype", Topic::kv_type},
    {kVllm, "block_size", Topic::page_size},
    {kVllm, "head_size", Topic::head_dim},
    {kVllm, "use_mla", Topic::latent},
    {kSglang, "model_path", Topic::model},
    {kSglang, "dtype", Topic::dtype},
    {kSglang, "tp_size", Topic::tensor_parallel},
    {kSglang, "dp_size", Topic::data_parallel},
    {kSglang, "enable_dp_attention", Topic::attention_dp},
    {kSglang, "kv_cache_dtype", Topic::kv_type},
    {kSglang, "page_size", Topic::page_size},
    {kSglang, "attention_backend", Topic::backend},
    {kSglang, "prefill_attention_backend", Topic::prefill_backend},
    {kSglang, "decode_attention_backend", Topic::decode_backend},
    {kTrtllm, "model", Topic::model},
    {kTrtllm, "dtype", Topic::dtype},
    {kTrtllm, "tensor_parallel_size", Topic::tensor_parallel},
    {kTrtllm, "enable_attention_dp", Topic::attention_dp},
    {kTrtllm, "kv_cache_dtype", Topic::kv_type},
    {kTrtllm, "attn_backend", Topic::backend},
    {kTrtllm, "kv_cache_config.dtype", Topic::kv_type},
    {kTrtllm, "kv_cache_config.tokens_per_block", Topic::page_size},
};

constexpr std::array<const char*, kLogTopics> kNames{"version",
                                                     "model",
                                                     "gpu",
                                                     "gpu_generation",
                                                     "backend",
                                                     "prefill_backend",
                                                     "decode_backend",
                                                     "flash_attention",
                                                     "kv_type",
                                                     "kv_token_bytes",
                                                     "kv_tokens",
                                                     "kv_gib",
                                                     "dtype",
                                                     "page_size",
                                                     "tensor_parallel",
                                                     "data_parallel",
                                                     "context_parallel",
                                                     "attention_dp",
                                                     "head_dim",
                                                     "latent",
                                                     "kv_scale",
                                                     "passed_over",
                                                     "costly_setting"};

}  // namespace

const char* name_of(LogTopic topic) { return kNames[static_cast<std::size_t>(topic)]; }
std::span<const FixedWords> fixed_words() { return kWords; }
std::span<const FieldName> field_names() { return kFields; }

}  // namespace headwise
