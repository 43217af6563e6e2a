#pragma once

#include <string>

namespace headwise {

/// Weights in the blocks of a model file, of one format or of several.
struct StoredFormat {
  std::string name;  ///< "Q4_1", or parts with their shares: "15 Q5_0 + 3 Q8_0"
  double bytes_per_weight = 2.0;
};

/// The matrices of a dense model, each in the mean of its layers.
struct StoredMatrices {
  StoredFormat qkv, attention_output, gate_up, down;
  StoredFormat output;
};

}  // namespace headwise
