#include "tests/engine/tiny_llama.h"

#include <cmath>
#include <random>

#include "core/check.h"
#include "tests/model/tiny_model.h"

namespace headwise {
namespace {

Matrix random_matrix(std::int64_t rows, std::int64_t columns, float mean, std::mt19937& random) {
  std::normal_distribution<float> normal(mean, 1.5F / std::sqrt(static_cast<float>(columns)));
  Matrix matrix{.rows = rows, .columns = columns};
  for (std::int64_t i = 0; i < rows * columns; ++i) matrix.values.push_back(normal(random));
  return matrix;
}

/// Rows first ... first + count - 1 as a tensor of the file.
void write_rows(GgufWriter& writer, const std::string& name, const Matrix& matrix,
                std::int64_t first, std::int64_t count, bool vector = false) {
  const auto columns = static_cast<std::uint64_t>(matrix.columns);
  std::vector<std::uint64_t> sizes = {columns};
  if (!vector) sizes.push_back(static_cast<std::uint64_t>(count));
  const float* begin = matrix.values.data() + first * matrix.columns;
  const auto bytes = static_cast<std::size_t>(count * matrix.columns) * sizeof(float);
  writer.tensor(name, sizes, 0, {reinterpret_cast<const char*>(begin), bytes});
}

void write_all(GgufWriter& writer, const std::string& name, const Matrix& matrix) {
  write_rows(writer, name, matrix, 0, matrix.rows);
}

void write_vector(GgufWriter& writer, const std::string& name, const Matrix& matrix) {
  write_rows(writer, name, matrix, 0, 1, true);
}

void write_layer(GgufWriter& writer, const LlamaConfig& config, const LlamaLayer& layer,
                 const std::string& prefix) {
  const std::int64_t q = std::int64_t{config.q_heads} * config.head_dim;
  const std::int64_t kv = std::int64_t{config.kv_heads} * config.head_dim;
  write_vector(writer, prefix + "attn_norm.weight", layer.attention_norm);
  write_rows(writer, prefix + "attn_q.weight", layer.qkv, 0, q);
  write_rows(writer, prefix + "attn_k.weight", layer.qkv, q, kv);
  write_rows(writer, prefix + "attn_v.weight", layer.qkv, q + kv, kv);
  write_all(writer, prefix + "attn_output.weight", layer.attention_output);
  write_vector(writer, prefix + "ffn_norm.weight", layer.ffn_norm);
  write_rows(writer, prefix + "ffn_gate.weight", layer.gate_up, 0, config.ffn_width);
  write_rows(writer, prefix + "ffn_up.weight", layer.gate_up, config.ffn_width, config.ffn_width);
  write_all(writer, prefix + "ffn_down.weight", layer.down);
}

}  // namespace

LlamaConfig tiny_config(bool tied_output) {
  return {.layers = 2,
          .width = 20,
          .ffn_width = 28,
          .q_heads = 4,
          .kv_heads = 2,
          .head_dim = 6,
          .vocab = static_cast<int>(TinyVocabulary().tokens.size()),
          .context = 40,
          .rope_base = 100.0,
          .rms_eps = 1e-5F,
          .tied_output = tied_output};
}

LlamaWeights random_llama(const LlamaConfig& config, unsigned seed) {
  std::mt19937 random(seed);
  const std::int64_t q = std::int64_t{config.q_heads} * config.head_dim;
  const std::int64_t kv = std::int64_t{config.kv_heads} * config.head_dim;
  const int width = config.width;
  LlamaWeights weights{.config = config};
  weights.embedding = random_matrix(config.vocab, width, 0.0F, random);
  for (int layer = 0; layer < config.layers; ++layer) {
    weights.layers.push_back({.attention_norm = random_matrix(1, width, 1.0F, random),
                              .qkv = random_matrix(q + 2 * kv, width, 0.0F, random),
                              .attention_output = random_matrix(width, q, 0.0F, random),
                              .ffn_norm = random_matrix(1, width, 1.0F, random),
                              .gate_up = random_matrix(2 * config.ffn_width, width, 0.0F, random),
                              .down = random_matrix(width, config.ffn_width, 0.0F, random)});
  }
  weights.final_norm = random_matrix(1, width, 1.0F, random);
  if (!config.tied_output) weights.output = random_matrix(config.vocab, width, 0.0F, random);
  return weights;
}

std::string gguf_of(const LlamaWeights& weights) {
  const LlamaConfig& config = weights.config;
  const auto count = [](int value) { return static_cast<std::uint32_t>(value); };
  GgufWriter writer;
  writer.string("general.architecture", "llama")
      .u32("llama.block_count", count(config.layers))
      .u32("llama.context_length", count(config.context))
      .u32("llama.embedding_length", count(config.width))
      .u32("llama.feed_forward_length", count(config.ffn_width))
      .u32("llama.attention.head_count", count(config.q_heads))
      .u32("llama.attention.head_count_kv", count(config.kv_heads))
      .u32("llama.attention.key_length", count(config.head_dim))
      .u32("llama.attention.value_length", count(config.head_dim))
      .f32("llama.attention.layer_norm_rms_epsilon", config.rms_eps)
      .f32("llama.rope.freq_base", static_cast<float>(config.rope_base));
  TinyVocabulary().write_keys(writer);
  write_all(writer, "token_embd.weight", weights.embedding);
  for (int layer = 0; layer < config.layers; ++layer) {
    write_layer(writer, config, weights.layers[static_cast<std::size_t>(layer)],
                concat("blk.", layer, "."));
  }
  write_vector(writer, "output_norm.weight", weights.final_norm);
  if (!config.tied_output) write_all(writer, "output.weight", weights.output);
  return writer.text();
}

}  // namespace headwise
