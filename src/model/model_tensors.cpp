#include "model/model_tensors.h"

#include <set>

#include "core/check.h"

namespace headwise {

std::vector<TensorShape> outer_tensors(const ModelConfig& config) {
  const auto width = static_cast<std::uint64_t>(config.width);
  const auto vocab = static_cast<std::uint64_t>(config.vocab);
  std::vector<TensorShape> tensors{{"token_embd.weight", {width, vocab}},
                                   {"output_norm.weight", {width}}};
  if (!config.tied_output) tensors.push_back({"output.weight", {width, vocab}});
  return tensors;
}

std::vector<TensorShape> layer_tensors(const ModelConfig& config, int layer) {
  const auto width = static_cast<std::uint64_t>(config.width);
  const auto ffn_width = static_cast<std::uint64_t>(config.ffn_width);
  const auto head_dim = static_cast<std::uint64_t>(config.head_dim);
  const auto q_width = static_cast<std::uint64_t>(config.q_heads) * head_dim;
  const auto kv_width = static_cast<std::uint64_t>(config.kv_heads) * head_dim;
  std::vector<TensorShape> tensors;
  const auto add = [&](const char* name, std::vector<std::uint64_t> sizes) {
    tensors.push_back({concat("blk.", layer, ".", name), std::move(sizes)});
  };
  add("attn_norm.weight", {width});
  add("attn_q.weight", {width, q_width});
  add("attn_k.weight", {width, kv_width});
  add("attn_v.weight", {width, kv_width});
  add("attn_output.weight", {q_width, width});
  add("ffn_norm.weight", {width});
  add("ffn_gate.weight", {width, ffn_width});
  add("ffn_up.weight", {width, ffn_width});
  add("ffn_down.weight", {ffn_width, width});
  if (config.qkv_bias) {
    add("attn_q.bias", {q_width});
    add("attn_k.bias", {kv_width});
    add("attn_v.bias", {kv_width});
  }
  if (config.qk_norm) {
    add("attn_q_norm.weight", {head_dim});
    add("attn_k_norm.weight", {head_dim});
  }
  if (config.post_norms) {
    add("post_attention_norm.weight", {width});
    add("post_ffw_norm.weight", {width});
  }
  return tensors;
}

void check_tensors(const ModelConfig& config, const TensorTable& table) {
  std::set<std::string, std::less<>> known{"rope_freqs.weight"};
  const auto check_all = [&](std::vector<TensorShape> tensors) {
    for (TensorShape& tensor : tensors) {
      table.at(tensor.name, tensor.sizes);
      known.insert(std::move(tensor.name));
    }
  };
  check_all(outer_tensors(config));
  // A file that claims more layers than it has ends this at the first that it lacks.
  for (int layer = 0; layer < config.layers; ++layer) check_all(layer_tensors(config, layer));
  for (const WeightTensor& tensor : table.tensors()) {
    check(known.contains(tensor.name), label(tensor), " is no part of a ", config.architecture,
          " model with this configuration");
  }
}

}  // namespace headwise
