#include "advisor/engine_log/attention_kernels.h"

#include <array>

namespace headwise {
namespace {

using enum AttentionKernel;
using enum Verdict;

constexpr ServingEngine kVllm = ServingEngine::vllm;
constexpr ServingEngine kSglang = ServingEngine::sglang;
constexpr ServingEngine kTrtllm = ServingEngine::tensorrt_llm;

constexpr std::array<const char*, 18> kTitles{"FlashAttention",
                                              "FlashAttention-2",
                                              "FlashAttention-3",
                                              "FlashAttention-4",
                                              "FlashInfer",
                                              "TensorRT-LLM's kernels for Blackwell",
                                              "TensorRT-LLM's kernels",
                                              "Triton",
                                              "FlexAttention",
                                              "xFormers",
                                              "PyTorch's attention",
                                              "FlashAttention for MLA",
                                              "FlashMLA",
                                              "sparse FlashMLA",
                                              "CUTLASS for MLA",
                                              "FlashInfer for MLA",
                                              "TensorRT-LLM's MLA kernels for Blackwell",
                                              "Triton for MLA"};

constexpr KernelName kNames[] = {
    {kVllm, "FLASH ATTENTION", flash_attention},
    {kVllm, "FLASH_ATTN", flash_attention},
    {kVllm, "FLASH_ATTN_VLLM_V1", flash_attention},
    {kVllm, "FLASHINFER", flashinfer},
    {kVllm, "FLASHINFER_VLLM_V1", flashinfer},
    {kVllm, "TRITON", triton},
    {kVllm, "TRITON ATTENTION", triton},
    {kVllm, "TRITON_ATTN", triton},
    {kVllm, "TRITON_ATTN_VLLM_V1", triton},
    {kVllm, "FLEXATTENTION", flex_attention},
    {kVllm, "FLEX_ATTENTION", flex_attention},
    {kVllm, "XFORMERS", xformers},
    {kVllm, "TORCH SDPA", torch},
    {kVllm, "TORCH_SDPA", torch},
    {kVllm, "FLASHATTENTION MLA", flash_attention_mla},
    {kVllm, "FLASH_ATTN_MLA", flash_attention_mla},
    {kVllm, "FLASHMLA", flashmla},
    {kVllm, "FLASHMLA_SPARSE", flashmla_sparse},
    {kVllm, "CUTLASS MLA", cutlass_mla},
    {kVllm, "CUTLASS_MLA", cutlass_mla},
    {kVllm, "FLASHINFER MLA", flashinfer_mla},
    {kVllm, "FLASHINFER_MLA", flashinfer_mla},
    {kVllm, "TRITON MLA", triton_mla},
    {kVllm, "TRITON_MLA", triton_mla},
    {kSglang, "FA3", flash_attention_3},
    {kSglang, "FA4", flash_attention_4},
    {kSglang, "FLASHINFER", flashinfer},
    {kSglang, "FLASHINFER_MLA", flashinfer_mla},
    {kSglang, "FLASHINFER MLA", flashinfer_mla},
    {kSglang, "TRITON", triton},
    {kSglang, "TORCH_NATIVE", torch},
    {kSglang, "FLEX_ATTENTION", flex_attention},
    {kSglang, "FLASHMLA", flashmla},
    {kSglang, "CUTLASS_MLA", cutlass_mla},
    {kSglang, "TRTLLM_MHA", trtllm_gen},
    {kSglang, "TRTLLM_MLA", trtllm_gen_mla},
    {kTrtllm, "TRTLLM", tensorrt_llm},
    {kTrtllm, "FLASHINFER", flashinfer},
    {kTrtllm, "FLASHMLA", flashmla},
    {kTrtllm, "VANILLA", torch},
};

constexpr std::string_view kFa3Paper = "arXiv 2407.08608";
constexpr std::string_view kFa4Paper = "arXiv 2603.05451";
constexpr std::string_view kVllmOrder =
    "vLLM 0.33.0 and 0.19.0, vllm/platforms/cuda.py: its order of preference";
constexpr std::string_view kSglangOrder = "SGLang 0.5.6.post2, srt/server_args.py: its defaults";
constexpr std::string_view kFlexPaper = "arXiv 2501.01005, appendix";

constexpr GenerationRule kGenerations[] = {
    {flash_attention, 80, 89, fits,
     "FlashAttention-2, the version that vLLM takes below Hopper, is written for Ampere's "
     "instructions",
     "vLLM 0.19.0, v1/attention/backends/fa_utils.py"},
    {flash_attention, 90, 90, cannot_tell,
     "the log does not say whether its version is 3, for Hopper, or 2, which reaches 35% of an "
     "H100's peak where 3 reaches 75%",
     kFa3Paper},
    {flash_attention, 100, 103, cannot_tell,
     "the log does not say whether its version is 4, for Blackwell, or 2, for Ampere",
     "vLLM 0.19.0, v1/attention/backends/fa_utils.py"},
    {flash_attention, 120, 121, fits,
     "FlashAttention-2's instructions, Ampere's, are those of this GPU, which lacks wgmma and "
     "tcgen05",
     "vLLM 0.19.0, v1/attention/backends/fa_utils.py"},
    {flash_attention_2, 0, 79, wrong, "it needs compute capability 8.0", "FlashAttention's README"},
    {flash_attention_2, 80, 89, fits, "it is written for Ampere's instructions",
     "FlashAttention's README"},
    {flash_attention_2, 90, 90, worse,
     "an older generation's kernel: 35% of an H100's peak, where FlashAttention-3 reaches 75%",
     kFa3Paper},
    {flash_attention_2, 100, 103, worse,
     "Ampere's instructions; FlashAttention-4 and FlashInfer with TensorRT-LLM's kernels are "
     "written for this GPU",
     kFa4Paper},
    {flash_attention_2, 120, 121, fits,
     "its instructions, Ampere's, are those of this GPU, which lacks wgmma and tcgen05",
     "vLLM 0.19.0, v1/attention/backends/fa_utils.py"},
    {flash_attention_3, 80, 89, cannot_tell,
     "its kernels for Ampere are not those that were published with figures", kFa3Paper},
    {flash_attention_3, 90, 90, fits,
     "written for Hopper: up to 740 TFLOP/s in FP16, 75% of an H100's peak", kFa3Paper},
    {flash_attention_3, 0, 999, wrong,
     "it has no kernels for this GPU: Hopper's wgmma exists on compute capability 9.0 alone",
     "vLLM 0.19.0, v1/attention/backends/fa_utils.py"},
    {flash_attention_4, 90, 90, fits,
     "its kernels for Hopper are about as fast as FlashAttention-3's",
     "pytorch/torchtitan PR 4413"},
    {flash_attention_4, 100, 103, fits, "written for Blackwell: up to 71% of a B200's peak",
     kFa4Paper},
    {flash_attention_4, 0, 79, wrong, "it has no kernels for this GPU", "FlashAttention's README"},
    {flashinfer, 75, 89, fits, "its kernels are written for this GPU's instructions",
     "FlashInfer's README"},
    {flashinfer, 90, 90, cannot_tell,
     "it has kernels of Ampere's and of Hopper's kind, and the log does not say which ran; vLLM "
     "and SGLang prefer FlashAttention-3 on Hopper",
     kVllmOrder},
    {flashinfer, 100, 103, fits,
     "it brings TensorRT-LLM's kernels for Blackwell; vLLM's first choice there", kVllmOrder},
    {flashinfer, 120, 121, fits, "its kernels are written for this GPU's instructions",
     "FlashInfer's README"},
    {trtllm_gen, 100, 103, fits, "written for this GPU; SGLang's first choice there", kSglangOrder},
    {trtllm_gen, 0, 999, wrong, "it has kernels for Blackwell's SM 10 alone", kSglangOrder},
    {tensorrt_llm, 80, 121, fits,
     "it has kernels for each generation from Ampere on: 4.31 TB/s of an H200's 4.8 in decodes at "
     "16K, 1029 TFLOP/s of a B200 in prefill",
     "TensorRT-LLM, docs, tech blog 16"},
    {triton, 70, 89, worse,
     "FlashAttention and FlashInfer come before it in vLLM's order; SGLang takes it where "
     "FlashInfer is missing",
     kVllmOrder},
    {triton, 90, 90, worse,
     "378 TFLOP/s of an H100 where FlashAttention-3 reaches 616 (causal prefill, head dimension "
     "128, 16K, FlashAttention-2: 335)",
     "FlashAttention 0251105a, assets/flash3_fp16_fwd.png: read off the chart"},
    {triton, 100, 103, worse, "FlashAttention-4 is 2.7 times as fast on a B200", kFa4Paper},
    {triton, 120, 121, worse, "FlashAttention and FlashInfer come before it in vLLM's order",
     kVllmOrder},
    {flex_attention, 70, 999, worse,
     "421 TFLOP/s of an H100 where FlashInfer's Hopper kernels reach 548 (causal prefill, 4K); "
     "last in vLLM's order",
     kFlexPaper},
    {xformers, 70, 79, fits, "FlashAttention needs compute capability 8.0",
     "vLLM 0.6.3.post1, attention/selector.py"},
    {xformers, 80, 999, worse, "vLLM takes it only where FlashAttention cannot serve",
     "vLLM 0.8.5, platforms/cuda.py"},
    {torch, 0, 999, worse,
     "keys and values are gathered before each call; a kernel that reads pages spares it",
     "SGLang 0.5.9, srt/layers/attention/torch_native_backend.py"},
    {flash_attention_mla, 90, 90, fits,
     "written for Hopper: 71 us where FlashMLA takes 84 (16 heads, 128 requests of 1K)",
     "vLLM PR 27363"},
    {flash_attention_mla, 0, 89, wrong, "it needs FlashAttention-3, for Hopper",
     "vLLM 0.19.0, v1/attention/backends/mla/flashattn_mla.py"},
    {flash_attention_mla, 100, 103, worse,
     "FlashInfer's and CUTLASS's kernels come before it in vLLM's order", kVllmOrder},
    {flashmla, 90, 90, fits, "written for Hopper: 3000 GB/s and 660 TFLOP/s of an H800",
     "FlashMLA's README"},
    {flashmla, 100, 103, worse, "FlashInfer's and CUTLASS's kernels come before it in vLLM's order",
     kVllmOrder},
    {flashmla, 0, 999, wrong, "it has no kernels for this GPU", "FlashMLA's README"},
    {flashmla_sparse, 90, 103, fits,
     "written for Hopper and Blackwell: 640 TFLOP/s of an H800, 1450 of a B200 in sparse prefill",
     "FlashMLA's README"},
    {flashmla_sparse, 0, 999, wrong, "it has no kernels for this GPU", "FlashMLA's README"},
    {cutlass_mla, 100, 103, fits, "written for this GPU",
     "vLLM 0.19.0, v1/attention/backends/mla/cutlass_mla.py"},
    {cutlass_mla, 0, 999, wrong, "it has kernels for Blackwell's SM 10 alone",
     "vLLM 0.19.0, v1/attention/backends/mla/cutlass_mla.py"},
    {flashinfer_mla, 100, 103, fits, "vLLM's and SGLang's first choice on this GPU", kVllmOrder},
    {flashinfer_mla, 90, 90, cannot_tell,
     "it runs there, but vLLM and SGLang prefer FlashAttention-3; no figures beside it are known",
     kSglangOrder},
    {trtllm_gen_mla, 100, 103, fits, "written for this GPU", kSglangOrder},
    {trtllm_gen_mla, 0, 999, wrong, "it has kernels for Blackwell's SM 10 alone", kSglangOrder},
    {triton_mla, 80, 89, fits, "what vLLM and SGLang take for MLA on this GPU", kVllmOrder},
    {triton_mla, 90, 103, worse,
     "FlashAttention for MLA, FlashMLA (Hopper) and FlashInfer, CUTLASS (Blackwell) come before it",
     kVllmOrder},
    {triton_mla, 120, 121, fits, "the first in vLLM's order on this GPU", kVllmOrder},
};

constexpr std::string_view kAsItIs = "read as it is stored, half the bytes of 16-bit KV";
constexpr std::string_view kE4m3 = " fp8 fp8_e4m3 float8_e4m3fn ";
constexpr std::string_view kE5m2 = " fp8_e5m2 float8_e5m2 ";
constexpr std::string_view kFaFp8 = "vLLM 0.19.0, v1/attention/backends/fa_utils.py";

constexpr KvRule kKv[] = {
    {flash_attention, "", 80, 89, wrong, "FlashAttention-2 reads no 8-bit KV", kFaFp8},
    {flash_attention, kE4m3, 90, 90, fits,
     "read as it is stored; vLLM lets FlashAttention have FP8 KV with version 3 on Hopper alone",
     kFaFp8},
    {flash_attention, "", 100, 121, wrong,
     "vLLM lets FlashAttention have FP8 KV with version 3 on Hopper alone", kFaFp8},
    {flash_attention_2, "", 0, 0, wrong, "FlashAttention-2 reads no 8-bit KV", kFaFp8},
    {flash_attention_3, kE4m3, 0, 0, fits,
     "read as it is stored, half the bytes of 16-bit KV; both products are FP8, queries included",
     kFa3Paper},
    {flash_attention_3, kE5m2, 0, 0, wrong, "FlashAttention-3 takes e4m3 alone",
     "SGLang 0.5.9, srt/server_args.py"},
    {flashinfer, kE4m3, 0, 0, fits, kAsItIs, "vLLM 0.19.0, v1/attention/backends/flashinfer.py"},
    {flashinfer, kE5m2, 0, 0, fits, kAsItIs, "vLLM 0.19.0, v1/attention/backends/flashinfer.py"},
    {trtllm_gen, kE4m3, 0, 0, fits, kAsItIs,
     "SGLang 0.5.9, srt/layers/attention/trtllm_mha_backend.py"},
    {tensorrt_llm, " fp8 int8 ", 0, 0, fits,
     "read as it is stored: 4.03 TB/s of an H200's 4.8 in decodes at 16K with FP8",
     "TensorRT-LLM, docs, tech blog 16"},
    {triton, kE4m3, 89, 121, fits, kAsItIs, "vLLM 0.19.0, v1/attention/backends/triton_attn.py"},
    {triton, kE5m2, 80, 121, fits, kAsItIs, "vLLM 0.19.0, v1/attention/backends/triton_attn.py"},
    {flex_attention, "", 0, 0, wrong, "FlexAttention takes 16-bit KV alone",
     "vLLM 0.19.0, v1/attention/backends/flex_attention.py"},
    {flash_attention_mla, "", 0, 0, wrong, "it takes 16-bit KV alone",
     "vLLM 0.33.0, v1/attention/backends/mla/flashattn_mla.py"},
    {flashmla, kE4m3, 0, 0, fits, kAsItIs, "vLLM 0.19.0, v1/attention/backends/mla/flashmla.py"},
    {flashmla_sparse, " fp8 fp8_ds_mla ", 0, 0, fits, "read as it is stored, 656 bytes a token",
     "FlashMLA, docs/20250929-hopper-fp8-sparse-deep-dive.md"},
    {cutlass_mla, kE4m3, 0, 0, fits, kAsItIs,
     "vLLM 0.19.0, v1/attention/backends/mla/cutlass_mla.py"},
    {flashinfer_mla, kE4m3, 0, 0, fits, kAsItIs,
     "vLLM 0.19.0, v1/attention/backends/mla/flashinfer_mla.py"},
    {trtllm_gen_mla, kE4m3, 0, 0, fits, kAsItIs,
     "SGLang 0.5.9, srt/layers/attention/trtllm_mla_backend.py"},
};

constexpr std::string_view kFa4Pages = "FlashAttention PR 2468";

constexpr PageRule kPages[] = {
    {kVllm, flash_attention, 16, 0, 0, wrong, "the kernels take multiples of 16 tokens",
     "vLLM 0.19.0, v1/attention/backends/flash_attn.py"},
    {kVllm, flash_attention_2, 16, 0, 0, wrong, "the kernels take multiples of 16 tokens",
     "vLLM 0.19.0, v1/attention/backends/flash_attn.py"},
    {kVllm, flash_attention_3, 16, 0, 0, wrong, "the kernels take multiples of 16 tokens",
     "vLLM 0.19.0, v1/attention/backends/flash_attn.py"},
    {kVllm, flash_attention_4, 128, 0, 0, worse,
     "pages of 128 cost about nothing, of 16 and 64 17 to 24% on a B200", kFa4Pages},
    {kVllm, flashinfer, 16, 0, 0, wrong,
     "the kernels take pages of 16, 32 and 64 tokens, of which larger ones must be made",
     "vLLM 0.19.0, v1/attention/backends/flashinfer.py"},
    {kVllm, triton, 16, 0, 0, wrong, "the kernels take multiples of 16 tokens",
     "vLLM 0.19.0, v1/attention/backends/triton_attn.py"},
    {kVllm, flashmla, 64, 0, 0, wrong, "the kernels take pages of 64 tokens",
     "vLLM 0.19.0, v1/attention/backends/mla/flashmla.py"},
    {kVllm, flashmla_sparse, 64, 0, 0, wrong, "the kernels take pages of 64 tokens",
     "vLLM 0.19.0, v1/attention/backends/mla/flashmla_sparse.py"},
    {kVllm, cutlass_mla, 128, 0, 0, wrong, "the kernels take pages of 128 tokens",
     "vLLM 0.19.0, v1/attention/backends/mla/cutlass_mla.py"},
    {kVllm, flashinfer_mla, 32, 0, 0, wrong, "the kernels take pages of 32 and 64 tokens",
     "vLLM 0.19.0, v1/attention/backends/mla/flashinfer_mla.py"},
    {kVllm, triton_mla, 16, 0, 0, wrong, "the kernels take multiples of 16 tokens",
     "vLLM 0.19.0, v1/attention/backends/mla/triton_mla.py"},
    {kSglang, flash_attention_3, 1, 0, 0, wrong,
     "any page is taken; tensor copies serve only pages that are multiples of the kernel's tile",
     "FlashAttention 0251105a, hopper"},
    {kSglang, flash_attention_4, 128, 128, 128, wrong, "the backend takes pages of 128 tokens",
     "SGLang 0.5.6.post2, srt/server_args.py"},
    {kSglang, flashinfer, 1, 0, 0, wrong, "any page is taken", "FlashInfer's documentation"},
    {kSglang, flashmla, 64, 64, 64, wrong, "the backend takes pages of 64 tokens",
     "SGLang 0.5.9, srt/server_args.py"},
    {kSglang, cutlass_mla, 128, 128, 128, wrong, "the backend takes pages of 128 tokens",
     "SGLang 0.5.9, srt/server_args.py"},
    {kSglang, trtllm_gen, 16, 16, 64, wrong, "the backend takes pages of 16, 32 and 64 tokens",
     "SGLang 0.5.9, srt/server_args.py"},
    {kSglang, trtllm_gen_mla, 32, 32, 64, wrong, "the backend takes pages of 32 and 64 tokens",
     "SGLang 0.5.9, srt/server_args.py"},
    {kTrtllm, tensorrt_llm, 16, 16, 128, worse,
     "kernels are made for pages of 16 to 128 tokens; 32 is the default",
     "TensorRT-LLM, llmapi/llm_args.py"},
};

constexpr HeadDimRule kHeadDims[] = {
    {kVllm, flash_attention, 8, 256, "", "vLLM 0.19.0, v1/attention/backends/flash_attn.py"},
    {kVllm, flash_attention_2, 8, 256, "", "vLLM 0.19.0, v1/attention/backends/flash_attn.py"},
    {kVllm, flash_attention_3, 8, 256, "", "vLLM 0.19.0, v1/attention/backends/flash_attn.py"},
    {kVllm, flash_attention_4, 8, 128, "", "vLLM 0.19.0, v1/attention/backends/fa_utils.py"},
    {kVllm, flashinfer, 0, 0, " 64 128 256 ", "vLLM 0.19.0, v1/attention/backends/flashinfer.py"},
    {kVllm, triton, 1, 0, "", "vLLM 0.19.0, v1/attention/backends/triton_attn.py"},
    {kVllm, flex_attention, 1, 0, "", "vLLM 0.19.0, v1/attention/backends/flex_attention.py"},
    {kSglang, flash_attention_3, 8, 256, "", "FlashAttention 0251105a, hopper"},
};

}  // namespace

const char* name_of(AttentionKernel kernel) { return kTitles[static_cast<std::size_t>(kernel)]; }
bool is_latent(AttentionKernel kernel) { return kernel >= flash_attention_mla; }

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case fits:
      return "fits";
    case worse:
      return "worse than possible";
    case wrong:
      return "wrong";
    case cannot_tell:
      break;
  }
  return "cannot tell";
}

std::span<const KernelName> kernel_names() { return kNames; }
std::span<const GenerationRule> generation_rules() { return kGenerations; }
std::span<const KvRule> kv_rules() { return kKv; }
std::span<const PageRule> page_rules() { return kPages; }
std::span<const HeadDimRule> head_dim_rules() { return kHeadDims; }

}  // namespace headwise
