#pragma once

#include <optional>
#include <vector>

#include "model/model_config.h"
#include "ops/weight_matrix.h"

namespace headwise {

class ModelFile;

/// Matrices that read the same input lie behind one another, so that one product does for all.
/// Vectors that a model does not have are empty.
struct LayerWeights {
  std::vector<float> attention_norm;       ///< [width]
  WeightMatrix qkv;                        ///< [(q_heads + 2 kv_heads) head_dim, width]: q, k, v
  std::vector<float> qkv_bias;             ///< as qkv's rows
  std::vector<float> q_norm, k_norm;       ///< [head_dim]
  WeightMatrix attention_output;           ///< [width, q_heads head_dim]
  std::vector<float> post_attention_norm;  ///< [width]
  std::vector<float> ffn_norm;             ///< [width]
  WeightMatrix gate_up;                    ///< [2 ffn_width, width]: gate, up
  WeightMatrix down;                       ///< [width, ffn_width]
  std::vector<float> post_ffn_norm;        ///< [width]
};

/// A model's weights: its matrices as they lie in the file, which must outlive them, and what
/// products make of them. For one thread at a time.
struct ModelWeights {
  ModelConfig config;
  Maths maths = Maths::f32;
  WeightMatrix embedding;  ///< [vocab, width]
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;       ///< [width]
  std::optional<WeightMatrix> output;  ///< [vocab, width]; absent where the config's output is tied

  WeightMatrix& output_matrix() { return output ? *output : embedding; }
};

/// Throws Error naming a tensor that is missing or does not fit, and as WeightMatrix does. What
/// products need is made at once (WeightMatrix::prepare), as far as half of memory goes.
ModelWeights load_weights(const ModelFile& file, Maths maths);

}  // namespace headwise
