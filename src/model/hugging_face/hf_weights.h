#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/hugging_face/safetensors.h"
#include "model/tensor_table.h"

namespace headwise {

struct ModelConfig;

/// The weights of a Hugging Face folder, in one file or in shards, by the names of GGUF files.
struct HfWeights {
  std::vector<SafetensorsFile> files;  ///< which the tensors point into
  TensorTable table;
};

/// Opens model.safetensors, or what model.safetensors.index.json lists. Throws Error, one line that
/// names the file and the field or tensor at fault: missing, not where the index says, or not
/// understood.
HfWeights open_hf_weights(const std::filesystem::path& folder, const ModelConfig& config);

}  // namespace headwise
