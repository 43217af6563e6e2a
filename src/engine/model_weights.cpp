#include "engine/model_weights.h"

#include <initializer_list>
#include <string>

#include "core/check.h"
#include "core/log.h"
#include "headwise/machine.h"
#include "model/model_file.h"

namespace headwise {
namespace {

/// Reads one layer's tensors, or those that belong to none.
class WeightReader {
 public:
  WeightReader(const ModelFile& file, Maths maths, std::string prefix)
      : file_(file), maths_(maths), prefix_(std::move(prefix)) {}

  struct Part {
    const char* name;
    std::int64_t rows;
  };

  /// The named matrices, one below the other.
  WeightMatrix matrix(std::initializer_list<Part> parts, std::int64_t columns) const {
    std::vector<StoredRows> stored;
    for (const Part& part : parts) {
      const WeightTensor& tensor = file_.tensor(
          prefix_ + part.name + ".weight",
          {static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(part.rows)});
      stored.push_back({tensor.format, tensor.data.data(), part.rows, columns});
    }
    return {std::move(stored), maths_};
  }

  std::vector<float> vector(const std::string& name, std::int64_t size) const {
    std::vector<float> values(static_cast<std::size_t>(size));
    file_.tensor(prefix_ + name, {static_cast<std::uint64_t>(size)}).dequantise_to_f32(values);
    return values;
  }

  /// What is multiplied with after normalisation.
  std::vector<float> norm(const std::string& name, std::int64_t size) const {
    std::vector<float> values = vector(name + ".weight", size);
    for (float& value : values) value += file_.config().norm_offset;
    return values;
  }

 private:
  const ModelFile& file_;
  Maths maths_;
  std::string prefix_;
};

std::vector<float> read_qkv_bias(const WeightReader& read, std::int64_t q_rows,
                                 std::int64_t kv_rows) {
  std::vector<float> bias = read.vector("attn_q.bias", q_rows);
  for (const char* name : {"attn_k.bias", "attn_v.bias"}) {
    const std::vector<float> part = read.vector(name, kv_rows);
    bias.insert(bias.end(), part.begin(), part.end());
  }
  return bias;
}

LayerWeights read_layer(const WeightReader& read, const ModelConfig& config) {
  const std::int64_t q_rows = std::int64_t{config.q_heads} * config.head_dim;
  const std::int64_t kv_rows = std::int64_t{config.kv_heads} * config.head_dim;
  const int width = config.width;
  LayerWeights layer;
  layer.attention_norm = read.norm("attn_norm", width);
  layer.qkv = read.matrix({{"attn_q", q_rows}, {"attn_k", kv_rows}, {"attn_v", kv_rows}}, width);
  layer.attention_output = read.matrix({{"attn_output", width}}, q_rows);
  layer.ffn_norm = read.norm("ffn_norm", width);
  layer.gate_up =
      read.matrix({{"ffn_gate", config.ffn_width}, {"ffn_up", config.ffn_width}}, width);
  layer.down = read.matrix({{"ffn_down", width}}, config.ffn_width);
  if (config.qkv_bias) layer.qkv_bias = read_qkv_bias(read, q_rows, kv_rows);
  if (config.qk_norm) {
    layer.q_norm = read.norm("attn_q_norm", config.head_dim);
    layer.k_norm = read.norm("attn_k_norm", config.head_dim);
  }
  if (config.post_norms) {
    layer.post_attention_norm = read.norm("post_attention_norm", width);
    layer.post_ffn_norm = read.norm("post_ffw_norm", width);
  }
  return layer;
}

/// The copies that products want, as far as half of memory goes. In bf16 the output matrix needs
/// none: one row at a time meets it, as it is stored.
void prepare(ModelWeights& weights) {
  std::vector<WeightMatrix*> matrices;
  for (LayerWeights& layer : weights.layers)
    matrices.insert(matrices.end(),
                    {&layer.qkv, &layer.attention_output, &layer.gate_up, &layer.down});
  if (weights.maths == Maths::f32)
    matrices.push_back(&weights.output_matrix());
  else
    weights.output_matrix().touch();
  std::int64_t room = this_machine().cpu.memory_bytes / 2;
  for (WeightMatrix* matrix : matrices) {
    room -= matrix->copy_bytes();
    if (room < 0) {
      log(LogLevel::warning,
          "half of memory is full of weights: prompts unpack the rest each time");
      return;
    }
    matrix->prepare();
  }
}

}  // namespace

ModelWeights load_weights(const ModelFile& file, Maths maths) {
  const ModelConfig& config = file.config();
  ModelWeights weights{.config = config, .maths = maths};
  const WeightReader read(file, maths, "");
  weights.embedding = read.matrix({{"token_embd", config.vocab}}, config.width);
  for (int layer = 0; layer < config.layers; ++layer)
    weights.layers.push_back(
        read_layer(WeightReader(file, maths, concat("blk.", layer, ".")), config));
  weights.final_norm = read.norm("output_norm", config.width);
  if (!config.tied_output) weights.output = read.matrix({{"output", config.vocab}}, config.width);
  prepare(weights);
  return weights;
}

}  // namespace headwise
