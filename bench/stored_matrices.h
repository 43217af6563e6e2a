#pragma once

#include <optional>

#include "advisor/model/stored_matrices.h"
#include "model/model_file.h"

namespace headwise::bench {

/// How a model's matrices lie in its file, named as calibrations by `bench model` name them; absent
/// where it has no weights.
std::optional<StoredMatrices> stored_matrices(const ModelFile& file);

}  // namespace headwise::bench
