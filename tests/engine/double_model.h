#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/model_file.h"
#include "model/tokenizer/tokenizer.h"

namespace headwise {

/// A model of any family that ModelConfig describes, in plain loops in double, a token at a time:
/// no chunks, no pages, no library. Shares nothing with the engine but the reader of files.
class DoubleModel {
 public:
  using Row = std::vector<double>;

  /// `rounded`: numbers are rounded to bf16 where they enter a product, and q, K and V.
  explicit DoubleModel(const ModelFile& file, bool rounded = false);

  /// The logits behind each of `tokens`.
  std::vector<Row> logits(std::span<const TokenId> tokens) const;

  /// `count` greedy tokens behind `prompt`.
  std::vector<TokenId> greedy(std::span<const TokenId> prompt, int count) const;

 private:
  struct Matrix {
    std::vector<Row> rows;
    bool rounded = false;
    Row times(const Row& x) const;
  };
  struct Layer {
    Row attention_norm, q_norm, k_norm, post_attention_norm, ffn_norm, post_ffn_norm;
    Row q_bias, k_bias, v_bias;
    Matrix q, k, v, output, gate, up, down;
  };
  /// K and V of the tokens so far, of a layer.
  struct Memory {
    std::vector<Row> k, v;
  };

  Matrix read_matrix(const ModelFile& file, const std::string& name, std::uint64_t rows,
                     std::uint64_t columns) const;
  Layer read_layer(const ModelFile& file, const std::string& prefix) const;
  Row norm(const Row& x, const Row& weight) const;
  Row added(const Row& x, const Row& post_norm) const;
  void turn_heads(Row& heads, const Row& weight, int layer, std::size_t position) const;
  Row attend(const Layer& layer, int index, const Row& x, Memory& memory) const;
  Row gather(const Row& q, const Memory& memory, int window) const;
  Row feed_forward(const Layer& layer, const Row& x) const;
  Row next(TokenId token, std::vector<Memory>& memory) const;

  ModelConfig config_;
  bool rounded_;
  Matrix embedding_, output_;
  std::vector<Layer> layers_;
  Row final_norm_;
};

/// |found - exact| / |exact|.
double distance(std::span<const float> found, const DoubleModel::Row& exact);

}  // namespace headwise
