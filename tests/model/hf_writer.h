#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "tests/model/gguf_writer.h"

namespace headwise {

/// A folder that goes when the object does.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = std::filesystem::temp_directory_path() / "headwise-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }
  TemporaryFolder& file(const std::string& name, std::string_view bytes) {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return *this;
  }

 private:
  std::filesystem::path path_;
};

/// A safetensors file with a header of any kind.
inline std::string safetensors(const std::string& header, const std::string& data) {
  return Bytes().number<std::uint64_t>(header.size()).raw(header).raw(data).text();
}

/// Builds a valid safetensors file of F32 tensors of zeros.
class SafetensorsWriter {
 public:
  SafetensorsWriter& tensor(const std::string& name, const std::vector<std::uint64_t>& shape) {
    std::size_t bytes = 4;
    for (const std::uint64_t size : shape) bytes *= size;
    header_[name] = {
        {"dtype", "F32"}, {"shape", shape}, {"data_offsets", {data_.size(), data_.size() + bytes}}};
    data_.append(bytes, '\0');
    return *this;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : header_.items()) names.push_back(name);
    return names;
  }
  std::string text() const { return safetensors(header_.dump(), data_); }

 private:
  nlohmann::json header_ = nlohmann::json::object();
  std::string data_;
};

/// config.json of a model of 2 layers of width 8, 4 query heads, 2 KV heads of 4 dimensions, 10
/// tokens.
inline nlohmann::json tiny_hf_config(const std::string& architecture = "LlamaForCausalLM") {
  return {{"architectures", {architecture}},
          {"hidden_size", 8},
          {"intermediate_size", 16},
          {"max_position_embeddings", 64},
          {"num_attention_heads", 4},
          {"num_hidden_layers", 2},
          {"num_key_value_heads", 2},
          {"head_dim", 4},
          {"rms_norm_eps", 1e-5},
          {"vocab_size", 10},
          {"tie_word_embeddings", true}};
}

/// The weights of layer `layer` of that model, as Llama has them.
inline void write_hf_layer(SafetensorsWriter& writer, int layer) {
  const std::string prefix = concat("model.layers.", layer, ".");
  writer.tensor(prefix + "input_layernorm.weight", {8})
      .tensor(prefix + "self_attn.q_proj.weight", {16, 8})
      .tensor(prefix + "self_attn.k_proj.weight", {8, 8})
      .tensor(prefix + "self_attn.v_proj.weight", {8, 8})
      .tensor(prefix + "self_attn.o_proj.weight", {8, 16})
      .tensor(prefix + "post_attention_layernorm.weight", {8})
      .tensor(prefix + "mlp.gate_proj.weight", {16, 8})
      .tensor(prefix + "mlp.up_proj.weight", {16, 8})
      .tensor(prefix + "mlp.down_proj.weight", {8, 16});
}

inline void write_hf_outer(SafetensorsWriter& writer) {
  writer.tensor("model.embed_tokens.weight", {10, 8}).tensor("model.norm.weight", {8});
}

inline SafetensorsWriter tiny_hf_weights() {
  SafetensorsWriter writer;
  write_hf_outer(writer);
  for (int layer = 0; layer < 2; ++layer) write_hf_layer(writer, layer);
  return writer;
}

}  // namespace headwise
