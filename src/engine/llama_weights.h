#pragma once

#include <cstdint>
#include <vector>

#include "headwise/tensor_view.h"
#include "model/llama_config.h"

namespace headwise {

class GgufFile;

/// f32 weights, [rows, columns] densely packed.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values;

  TensorView view() const { return dense(values.data(), DType::f32, {rows, columns}); }
};

/// Matrices that read the same input lie behind one another, so that one product does for all.
struct LlamaLayer {
  Matrix attention_norm;    ///< [1, width]
  Matrix qkv;               ///< [(q_heads + 2 kv_heads) head_dim, width]: q, k, v; rotary pairs
                            ///< of q and k are neighbours
  Matrix attention_output;  ///< [width, q_heads head_dim]
  Matrix ffn_norm;          ///< [1, width]
  Matrix gate_up;           ///< [2 ffn_width, width]: gate, up
  Matrix down;              ///< [width, ffn_width]
};

/// A Llama model's weights, dequantised.
struct LlamaWeights {
  LlamaConfig config;
  Matrix embedding;  ///< [vocab, width]
  std::vector<LlamaLayer> layers;
  Matrix final_norm;  ///< [1, width]
  Matrix output;      ///< [vocab, width]; empty where the config's output is tied

  const Matrix& output_matrix() const { return config.tied_output ? embedding : output; }
};

/// Reads and dequantises. The file may be closed afterwards. Throws Error naming a key or tensor
/// that is missing or does not fit.
LlamaWeights load_llama_weights(const GgufFile& file);

}  // namespace headwise
