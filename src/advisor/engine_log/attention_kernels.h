#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "advisor/engine_log/log_record.h"

namespace headwise {

/// Kernels that serving engines choose among, whatever name an engine has for them.
enum class AttentionKernel : std::uint8_t {
  flash_attention,  ///< of a version that is not known
  flash_attention_2,
  flash_attention_3,
  flash_attention_4,
  flashinfer,
  trtllm_gen,  ///< of TensorRT-LLM, for Blackwell, by way of FlashInfer
  tensorrt_llm,
  triton,
  flex_attention,
  xformers,
  torch,
  // of multi-head latent attention (MLA)
  flash_attention_mla,
  flashmla,
  flashmla_sparse,
  cutlass_mla,
  flashinfer_mla,
  trtllm_gen_mla,
  triton_mla,
};

const char* name_of(AttentionKernel kernel);
bool is_latent(AttentionKernel kernel);

enum class Verdict : std::uint8_t { fits, worse, wrong, cannot_tell };

const char* name_of(Verdict verdict);  ///< "worse than possible" for worse

/// What an engine calls a kernel, in capitals.
struct KernelName {
  ServingEngine engine;
  std::string_view name;
  AttentionKernel kernel;
};

/// What can be said of a kernel on GPUs whose compute capability lies in [from, to]: the first row
/// that fits counts.
struct GenerationRule {
  AttentionKernel kernel;
  int from, to;
  Verdict verdict;
  std::string_view reason;  ///< what was measured, or why it must be; the better kernel, if any
  std::string_view source;
};

/// How 8-bit KV is read.
struct KvRule {
  AttentionKernel kernel;
  std::string_view types;  ///< each in spaces; "": every 8-bit type
  int from, to;            ///< compute capability; 0, 0: whatever it is, known or not
  Verdict verdict;
  std::string_view reason;
  std::string_view source;
};

/// Pages that suit: multiples of `multiple_of`, from `least` to `most` tokens (0: no limit).
struct PageRule {
  ServingEngine engine;
  AttentionKernel kernel;
  int multiple_of, least, most;
  Verdict otherwise;
  std::string_view reason;
  std::string_view source;
};

/// Head dimensions that a kernel takes: multiples of `multiple_of` up to `most`, or those listed.
struct HeadDimRule {
  ServingEngine engine;
  AttentionKernel kernel;
  int multiple_of, most;
  std::string_view listed;  ///< each in spaces; ends the row's other limits unless empty
  std::string_view source;
};

std::span<const KernelName> kernel_names();
std::span<const GenerationRule> generation_rules();
std::span<const KvRule> kv_rules();
std::span<const PageRule> page_rules();
std::span<const HeadDimRule> head_dim_rules();

}  // namespace headwise
