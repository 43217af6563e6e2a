#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "advisor/model/weight_format.h"

namespace headwise {

/// In which format a model's weights lie, by its config.json's quantization_config.
struct StoredWeights {
  std::optional<WeightFormat> format;  ///< absent: the file does not say, or it is none of ours
  std::string why;
};

/// Throws Error if the text is not a JSON object.
StoredWeights stored_weights(std::string_view config_json);

}  // namespace headwise
