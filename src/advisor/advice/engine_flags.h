#pragma once

#include <string>

#include "advisor/device/hardware.h"
#include "advisor/time/deployment.h"

namespace headwise {

/// How an engine is told of a plan.
struct EngineFlags {
  std::string flags;    ///< empty: the engine cannot
  std::string why_not;  ///< one sentence
};

/// Options of `vllm serve`. Decode context parallelism takes devices of tensor parallelism. Source:
/// docs/serving/{data,expert,context}_parallel_deployment.md, vllm/config/parallel.py.
EngineFlags vllm_flags(const ModelDescription& model, const Deployment& plan);

/// The fields of the YAML file that `trtllm-serve --config` reads, in braces. Source:
/// docs/source/features/{parallel-strategy,helix}.md of TensorRT-LLM.
EngineFlags trtllm_flags(const ModelDescription& model, const Deployment& plan,
                         const Hardware& hardware, std::int64_t page);

}  // namespace headwise
