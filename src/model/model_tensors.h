#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model_config.h"
#include "model/tensor_table.h"

namespace headwise {

struct TensorShape {
  std::string name;                  ///< as in GGUF files
  std::vector<std::uint64_t> sizes;  ///< fastest first
};

/// The tensors outside of layers: embedding, final norm, output where it is not tied.
std::vector<TensorShape> outer_tensors(const ModelConfig& config);

/// The tensors of a layer, 0 to layers - 1.
std::vector<TensorShape> layer_tensors(const ModelConfig& config, int layer);

/// Throws Error naming a tensor of the model that is missing or has other sizes, or one that is no
/// part of it: leaving it out could change the result. rope_freqs.weight is none of its business.
void check_tensors(const ModelConfig& config, const TensorTable& table);

}  // namespace headwise
