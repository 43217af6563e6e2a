#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "advisor/engine_log/engine_findings.h"

namespace headwise {

/// A backend that a log names, by the kernel that it stands for.
struct LoggedKernel {
  std::string phase;                      ///< "prefill", "decode"; empty: both
  std::string name;                       ///< as logged
  std::optional<AttentionKernel> kernel;  ///< nothing: no name that is known
  std::int64_t line = 0;
};

/// What a log says, as the rules want it.
struct LoggedAttention {
  ServingEngine engine = ServingEngine::vllm;
  std::vector<LoggedKernel> kernels = {};
  std::optional<int> compute_capability = {};
  std::string gpu = {};  ///< as named; empty: only the generation is known, or nothing
  std::optional<LoggedValue> kv_type = {};
  std::optional<int> page_size = {}, tensor_parallel = {}, data_parallel = {};
  std::optional<int> context_parallel = {}, head_dim = {};
  bool latent = false;        ///< known to be MLA, by what is logged or by the model
  bool attention_dp = false;  ///< requests are spread over GPUs for attention
};

/// Throws Error if `known.gpu` is no GPU that is known.
LoggedAttention read_logged_attention(const EngineLog& log, const KnownBesides& known);

}  // namespace headwise
