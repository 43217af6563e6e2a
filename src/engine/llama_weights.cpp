#include "engine/llama_weights.h"

#include <initializer_list>
#include <string>

#include "core/check.h"
#include "model/gguf.h"

namespace headwise {
namespace {

struct Part {
  std::string name;
  std::int64_t rows = 0;
};

/// The named matrices of `columns` columns, one below the other.
Matrix read_stacked(const GgufFile& file, std::initializer_list<Part> parts, std::int64_t columns) {
  Matrix matrix{.columns = columns};
  for (const Part& part : parts) {  // all sizes are checked before memory is asked for
    file.tensor(part.name,
                {static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(part.rows)});
    matrix.rows += part.rows;
  }
  matrix.values.resize(static_cast<std::size_t>(matrix.rows * columns));
  std::span<float> rest(matrix.values);
  for (const Part& part : parts) {
    const auto count = static_cast<std::size_t>(part.rows * columns);
    file.tensor(part.name).dequantise_to_f32(rest.first(count));
    rest = rest.subspan(count);
  }
  return matrix;
}

Matrix read_vector(const GgufFile& file, const std::string& name, std::int64_t columns) {
  Matrix matrix{.rows = 1, .columns = columns};
  const WeightTensor& tensor = file.tensor(name, {static_cast<std::uint64_t>(columns)});
  matrix.values.resize(static_cast<std::size_t>(columns));
  tensor.dequantise_to_f32(matrix.values);
  return matrix;
}

LlamaLayer read_layer(const GgufFile& file, const LlamaConfig& config, int index) {
  const std::string prefix = concat("blk.", index, ".");
  const std::int64_t q_rows = std::int64_t{config.q_heads} * config.head_dim;
  const std::int64_t kv_rows = std::int64_t{config.kv_heads} * config.head_dim;
  const int width = config.width;
  const int ffn_width = config.ffn_width;
  return {
      .attention_norm = read_vector(file, prefix + "attn_norm.weight", width),
      .qkv = read_stacked(file,
                          {{prefix + "attn_q.weight", q_rows},
                           {prefix + "attn_k.weight", kv_rows},
                           {prefix + "attn_v.weight", kv_rows}},
                          width),
      .attention_output = read_stacked(file, {{prefix + "attn_output.weight", width}}, q_rows),
      .ffn_norm = read_vector(file, prefix + "ffn_norm.weight", width),
      .gate_up = read_stacked(
          file, {{prefix + "ffn_gate.weight", ffn_width}, {prefix + "ffn_up.weight", ffn_width}},
          width),
      .down = read_stacked(file, {{prefix + "ffn_down.weight", width}}, ffn_width),
  };
}

}  // namespace

LlamaWeights load_llama_weights(const GgufFile& file) {
  LlamaWeights weights;
  weights.config = read_llama_config(file);
  const LlamaConfig& config = weights.config;
  weights.embedding = read_stacked(file, {{"token_embd.weight", config.vocab}}, config.width);
  for (int layer = 0; layer < config.layers; ++layer) {
    weights.layers.push_back(read_layer(file, config, layer));
  }
  weights.final_norm = read_vector(file, "output_norm.weight", config.width);
  if (!config.tied_output) {
    weights.output = read_stacked(file, {{"output.weight", config.vocab}}, config.width);
  }
  return weights;
}

}  // namespace headwise
