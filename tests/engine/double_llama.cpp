#include "tests/engine/double_llama.h"

#include <algorithm>
#include <cmath>

namespace headwise {
namespace {

using Row = std::vector<double>;
using RowList = std::vector<Row>;  // by token

Row product(const Matrix& w, const Row& x) {
  Row y(static_cast<std::size_t>(w.rows), 0.0);
  for (std::int64_t r = 0; r < w.rows; ++r) {
    for (std::int64_t c = 0; c < w.columns; ++c) y[r] += w.values[r * w.columns + c] * x[c];
  }
  return y;
}

Row normalised(const Row& x, const Matrix& weight, double epsilon) {
  double squares = 0.0;
  for (const double value : x) squares += value * value;
  Row y = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = weight.values[i] * x[i] / std::sqrt(squares / double(x.size()) + epsilon);
  }
  return y;
}

void add(Row& to, const Row& what) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += what[i];
}

/// Turns neighbours of the `heads` heads from element `first` on.
void turn(Row& qkv, int first, int heads, int dim, int position, double base) {
  for (int h = 0; h < heads; ++h) {
    for (int i = 0; i < dim; i += 2) {
      double& a = qkv[std::size_t(first + h * dim + i)];
      double& b = qkv[std::size_t(first + h * dim + i + 1)];
      const double angle = position / std::pow(base, double(i) / dim);
      const double turned = a * std::cos(angle) - b * std::sin(angle);
      b = a * std::sin(angle) + b * std::cos(angle);
      a = turned;
    }
  }
}

/// What token `t` gathers: softmax(q k / sqrt(dim)) v over the tokens up to it.
Row attended(const LlamaConfig& c, const RowList& qkv, std::size_t t) {
  const int group = c.q_heads / c.kv_heads;
  Row out(std::size_t(c.q_heads * c.head_dim), 0.0);
  for (int h = 0; h < c.q_heads; ++h) {
    const int q = h * c.head_dim;
    const int k = (c.q_heads + h / group) * c.head_dim;
    const int v = (c.q_heads + c.kv_heads + h / group) * c.head_dim;
    Row weight(t + 1);
    double sum = 0.0;
    for (std::size_t s = 0; s <= t; ++s) {
      double dot = 0.0;
      for (int i = 0; i < c.head_dim; ++i)
        dot += qkv[t][std::size_t(q + i)] * qkv[s][std::size_t(k + i)];
      sum += weight[s] = std::exp(dot / std::sqrt(c.head_dim));
    }
    for (std::size_t s = 0; s <= t; ++s) {
      for (int i = 0; i < c.head_dim; ++i) {
        out[std::size_t(q + i)] += weight[s] / sum * qkv[s][std::size_t(v + i)];
      }
    }
  }
  return out;
}

Row feed_forward(const LlamaConfig& c, const LlamaLayer& layer, const Row& x) {
  const Row both = product(layer.gate_up, x);
  Row inner(std::size_t(c.ffn_width));
  for (int i = 0; i < c.ffn_width; ++i) {
    const double gate = both[std::size_t(i)];
    inner[std::size_t(i)] = gate / (1.0 + std::exp(-gate)) * both[std::size_t(c.ffn_width + i)];
  }
  return product(layer.down, inner);
}

void run_layer(const LlamaConfig& c, const LlamaLayer& layer, RowList& residual) {
  RowList qkv;
  for (std::size_t t = 0; t < residual.size(); ++t) {
    qkv.push_back(product(layer.qkv, normalised(residual[t], layer.attention_norm, c.rms_eps)));
    turn(qkv[t], 0, c.q_heads + c.kv_heads, c.head_dim, int(t), c.rope_base);
  }
  for (std::size_t t = 0; t < residual.size(); ++t) {
    add(residual[t], product(layer.attention_output, attended(c, qkv, t)));
    add(residual[t], feed_forward(c, layer, normalised(residual[t], layer.ffn_norm, c.rms_eps)));
  }
}

}  // namespace

std::vector<double> logits_in_double(const LlamaWeights& weights, std::span<const TokenId> tokens) {
  const LlamaConfig& c = weights.config;
  RowList residual;
  for (const TokenId token : tokens) {
    const auto begin = weights.embedding.values.begin() + std::int64_t{token} * c.width;
    residual.emplace_back(begin, begin + c.width);
  }
  for (const LlamaLayer& layer : weights.layers) run_layer(c, layer, residual);
  return product(weights.output_matrix(),
                 normalised(residual.back(), weights.final_norm, c.rms_eps));
}

std::vector<TokenId> greedy_in_double(const LlamaWeights& weights, std::vector<TokenId> prompt,
                                      int count) {
  std::vector<TokenId> tokens;
  for (; count > 0; --count) {
    const std::vector<double> logits = logits_in_double(weights, prompt);
    tokens.push_back(
        static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    prompt.push_back(tokens.back());
  }
  return tokens;
}

}  // namespace headwise
