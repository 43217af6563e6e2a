#include "tests/engine/double_model.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace headwise {
namespace {

using Row = DoubleModel::Row;

Row read_row(const ModelFile& file, const std::string& name, std::uint64_t size) {
  std::vector<float> values(size);
  file.tensor(name, {size}).dequantise_to_f32(values);
  return {values.begin(), values.end()};
}

/// To 8 significant bits, the nearer number, as bf16 has them.
void round_to_bf16(Row& numbers) {
  for (double& number : numbers) {
    int exponent = 0;
    const double fraction = std::frexp(number, &exponent);
    number = std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
  }
}

void add(Row& to, const Row& what) {
  for (std::size_t i = 0; i < what.size(); ++i) to[i] += what[i];
}

double silu(double z) { return z / (1.0 + std::exp(-z)); }

double gelu_tanh(double z) {
  return 0.5 * z * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (z + 0.044715 * z * z * z)));
}

void turn(double& a, double& b, double angle, double magnitude) {
  const double turned = magnitude * (a * std::cos(angle) - b * std::sin(angle));
  b = magnitude * (b * std::cos(angle) + a * std::sin(angle));
  a = turned;
}

TokenId largest(const Row& logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace

Row DoubleModel::Matrix::times(const Row& numbers) const {
  Row x = numbers;
  if (rounded) round_to_bf16(x);
  Row y;
  for (const Row& row : rows) {
    double sum = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += row[i] * x[i];
    y.push_back(sum);
  }
  return y;
}

DoubleModel::DoubleModel(const ModelFile& file, bool rounded)
    : config_(file.config()), rounded_(rounded) {
  const auto width = std::uint64_t(config_.width);
  const auto vocab = std::uint64_t(config_.vocab);
  embedding_ = read_matrix(file, "token_embd.weight", vocab, width);
  output_ = file.has_tensor("output.weight") ? read_matrix(file, "output.weight", vocab, width)
                                             : embedding_;
  for (int layer = 0; layer < config_.layers; ++layer)
    layers_.push_back(read_layer(file, concat("blk.", layer, ".")));
  final_norm_ = read_row(file, "output_norm.weight", width);
}

DoubleModel::Matrix DoubleModel::read_matrix(const ModelFile& file, const std::string& name,
                                             std::uint64_t rows, std::uint64_t columns) const {
  std::vector<float> values(rows * columns);
  file.tensor(name, {columns, rows}).dequantise_to_f32(values);
  Matrix matrix{.rounded = rounded_};
  for (auto at = values.begin(); at != values.end(); at += std::int64_t(columns)) {
    matrix.rows.emplace_back(at, at + std::int64_t(columns));
    if (rounded_) round_to_bf16(matrix.rows.back());
  }
  return matrix;
}

DoubleModel::Layer DoubleModel::read_layer(const ModelFile& file, const std::string& prefix) const {
  const auto width = std::uint64_t(config_.width);
  const auto inner = std::uint64_t(config_.ffn_width);
  const auto dim = std::uint64_t(config_.head_dim);
  const std::uint64_t q = std::uint64_t(config_.q_heads) * dim;
  const std::uint64_t kv = std::uint64_t(config_.kv_heads) * dim;
  const auto row = [&](const char* name, std::uint64_t size) {  // empty where there is none
    return file.has_tensor(prefix + name) ? read_row(file, prefix + name, size) : Row();
  };
  const auto matrix = [&](const char* name, std::uint64_t rows, std::uint64_t columns) {
    return read_matrix(file, prefix + name, rows, columns);
  };
  return {.attention_norm = row("attn_norm.weight", width),
          .q_norm = row("attn_q_norm.weight", dim),
          .k_norm = row("attn_k_norm.weight", dim),
          .post_attention_norm = row("post_attention_norm.weight", width),
          .ffn_norm = row("ffn_norm.weight", width),
          .post_ffn_norm = row("post_ffw_norm.weight", width),
          .q_bias = row("attn_q.bias", q),
          .k_bias = row("attn_k.bias", kv),
          .v_bias = row("attn_v.bias", kv),
          .q = matrix("attn_q.weight", q, width),
          .k = matrix("attn_k.weight", kv, width),
          .v = matrix("attn_v.weight", kv, width),
          .output = matrix("attn_output.weight", width, q),
          .gate = matrix("ffn_gate.weight", inner, width),
          .up = matrix("ffn_up.weight", inner, width),
          .down = matrix("ffn_down.weight", width, inner)};
}

Row DoubleModel::norm(const Row& x, const Row& weight) const {
  double squares = 0.0;
  for (const double value : x) squares += value * value;
  const double root = std::sqrt(squares / double(x.size()) + double{config_.rms_eps});
  Row y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y.push_back(x[i] / root * (weight[i] + double{config_.norm_offset}));
  return y;
}

/// What a part of a layer adds to the residual stream.
Row DoubleModel::added(const Row& x, const Row& post_norm) const {
  return post_norm.empty() ? x : norm(x, post_norm);
}

/// Normalises the heads, where the model has a weight for it, then turns them to their position.
void DoubleModel::turn_heads(Row& heads, const Row& weight, int layer, std::size_t position) const {
  const RopeConfig& rope =
      config_.kinds[std::size_t(config_.kind_of_layer[std::size_t(layer)])].rope;
  const auto dim = std::size_t(config_.head_dim);
  for (std::size_t first = 0; first < heads.size(); first += dim) {
    const auto begin = heads.begin() + std::int64_t(first);
    if (!weight.empty())
      std::ranges::copy(norm(Row(begin, begin + config_.head_dim), weight), begin);
    for (std::size_t i = 0; i < dim / 2; ++i) {
      const bool near = config_.rope_pairs == RopePairs::neighbours;
      turn(heads[first + (near ? 2 * i : i)], heads[first + (near ? 2 * i + 1 : i + dim / 2)],
           double(position) * rope.frequencies[i], rope.magnitude);
    }
  }
}

/// softmax(scale q k) v over the newest `window` tokens, or over all where it is 0.
Row DoubleModel::gather(const Row& q, const Memory& memory, int window) const {
  const std::size_t tokens = memory.k.size();
  const std::size_t first = window > 0 && std::size_t(window) < tokens ? tokens - window : 0;
  const auto dim = std::size_t(config_.head_dim);
  Row out(q.size(), 0.0);
  for (std::size_t h = 0; h < std::size_t(config_.q_heads); ++h) {
    const std::size_t kv_head = h / std::size_t(config_.q_heads / config_.kv_heads);
    Row logits;
    for (std::size_t t = first; t < tokens; ++t) {
      double dot = 0.0;
      for (std::size_t i = 0; i < dim; ++i) dot += q[h * dim + i] * memory.k[t][kv_head * dim + i];
      logits.push_back(double{config_.attention_scale} * dot);
    }
    const double most = *std::ranges::max_element(logits);
    double sum = 0.0;
    for (double& logit : logits) sum += logit = std::exp(logit - most);
    for (std::size_t t = first; t < tokens; ++t)
      for (std::size_t i = 0; i < dim; ++i)
        out[h * dim + i] += logits[t - first] / sum * memory.v[t][kv_head * dim + i];
  }
  return out;
}

Row DoubleModel::attend(const Layer& layer, int index, const Row& x, Memory& memory) const {
  Row q = layer.q.times(x);
  Row k = layer.k.times(x);
  Row v = layer.v.times(x);
  add(q, layer.q_bias);
  add(k, layer.k_bias);
  add(v, layer.v_bias);
  const std::size_t position = memory.k.size();
  turn_heads(q, layer.q_norm, index, position);
  turn_heads(k, layer.k_norm, index, position);
  if (rounded_)
    for (Row* heads : {&q, &k, &v}) round_to_bf16(*heads);
  memory.k.push_back(k);
  memory.v.push_back(v);
  const LayerKind& kind = config_.kinds[std::size_t(config_.kind_of_layer[std::size_t(index)])];
  return layer.output.times(gather(q, memory, kind.window));
}

Row DoubleModel::feed_forward(const Layer& layer, const Row& x) const {
  Row inner = layer.gate.times(x);
  const Row up = layer.up.times(x);
  for (std::size_t i = 0; i < inner.size(); ++i)
    inner[i] = (config_.activation == Activation::silu ? silu : gelu_tanh)(inner[i]) * up[i];
  return layer.down.times(inner);
}

Row DoubleModel::next(TokenId token, std::vector<Memory>& memory) const {
  Row residual = embedding_.rows[std::size_t(token)];
  for (double& value : residual) value *= double{config_.embedding_scale};
  for (int i = 0; i < config_.layers; ++i) {
    const Layer& layer = layers_[std::size_t(i)];
    const Row attended =
        attend(layer, i, norm(residual, layer.attention_norm), memory[std::size_t(i)]);
    add(residual, added(attended, layer.post_attention_norm));
    add(residual, added(feed_forward(layer, norm(residual, layer.ffn_norm)), layer.post_ffn_norm));
  }
  return output_.times(norm(residual, final_norm_));
}

std::vector<Row> DoubleModel::logits(std::span<const TokenId> tokens) const {
  std::vector<Memory> memory(layers_.size());
  std::vector<Row> rows;
  for (const TokenId token : tokens) rows.push_back(next(token, memory));
  return rows;
}

std::vector<TokenId> DoubleModel::greedy(std::span<const TokenId> prompt, int count) const {
  std::vector<Memory> memory(layers_.size());
  Row logits;
  for (const TokenId token : prompt) logits = next(token, memory);
  std::vector<TokenId> tokens;
  for (; count > 0; --count) {
    tokens.push_back(largest(logits));
    if (count > 1) logits = next(tokens.back(), memory);
  }
  return tokens;
}

double distance(std::span<const float> found, const Row& exact) {
  check(found.size() == exact.size(), found.size(), " logits, not ", exact.size());
  double difference = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    difference += std::pow(double{found[i]} - exact[i], 2);
    norm += exact[i] * exact[i];
  }
  return std::sqrt(difference / norm);
}

}  // namespace headwise
