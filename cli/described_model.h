#pragma once

#include <optional>
#include <string>

#include "advisor/model/model_description.h"
#include "advisor/model/stored_matrices.h"
#include "advisor/model/stored_weights.h"

namespace headwise::cli {

/// A model to advise on, from its config.json or its GGUF file's metadata.
struct DescribedModel {
  std::string path, name;
  ModelDescription description;
  StoredWeights weights;
  std::optional<StoredMatrices> stored;  ///< of a GGUF file that has weights
};

/// `path` is a config.json, a folder that has one, or a .gguf file. Throws Error, one line that
/// names the file.
DescribedModel describe_model(const std::string& path);

}  // namespace headwise::cli
