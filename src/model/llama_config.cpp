#include "model/llama_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "core/check.h"
#include "model/byte_reader.h"
#include "model/gguf.h"

namespace headwise {
namespace {

// What read_llama_config understands; any other llama.* key is refused.
constexpr std::array<std::string_view, 12> kKnownKeys{
    "llama.attention.head_count",   "llama.attention.head_count_kv",
    "llama.attention.key_length",   "llama.attention.layer_norm_rms_epsilon",
    "llama.attention.value_length", "llama.block_count",
    "llama.context_length",         "llama.embedding_length",
    "llama.feed_forward_length",    "llama.rope.dimension_count",
    "llama.rope.freq_base",         "llama.vocab_size",
};

void check_architecture(const GgufMetadata& metadata) {
  const std::string_view architecture = metadata.string("general.architecture");
  check(architecture == "llama", "architecture ", quoted_name(architecture),
        " is not supported: llama is");
  for (const std::string_view key : metadata.keys()) {
    const bool known = std::ranges::find(kKnownKeys, key) != kKnownKeys.end();
    check(known || !key.starts_with("llama."), "key ", quoted_name(key), " is not supported");
  }
}

int positive(const GgufMetadata& metadata, std::string_view key) {
  const std::uint64_t number = metadata.unsigned_integer(key);
  check(number >= 1 && number <= static_cast<std::uint64_t>(std::numeric_limits<int>::max()),
        "key ", quoted_name(key), " is out of range: ", number);
  return static_cast<int>(number);
}

int positive_or(const GgufMetadata& metadata, std::string_view key, int otherwise) {
  return metadata.has(key) ? positive(metadata, key) : otherwise;
}

void read_heads(const GgufMetadata& metadata, LlamaConfig& config) {
  config.q_heads = positive(metadata, "llama.attention.head_count");
  config.kv_heads = positive_or(metadata, "llama.attention.head_count_kv", config.q_heads);
  check(config.q_heads % config.kv_heads == 0, "llama.attention.head_count ", config.q_heads,
        " is not a multiple of llama.attention.head_count_kv ", config.kv_heads);
  constexpr std::string_view kHeadDim = "llama.attention.key_length";
  if (!metadata.has(kHeadDim)) {
    check(config.width % config.q_heads == 0, "llama.embedding_length ", config.width,
          " is not a multiple of llama.attention.head_count ", config.q_heads);
  }
  config.head_dim = positive_or(metadata, kHeadDim, config.width / config.q_heads);
  check(config.head_dim % 2 == 0, "the head dimension ", config.head_dim, " is odd");
  for (const auto* key : {"llama.attention.value_length", "llama.rope.dimension_count"}) {
    const int other = positive_or(metadata, key, config.head_dim);
    check(other == config.head_dim, "key ", quoted_name(key), " is ", other,
          ": other than the head dimension ", config.head_dim, " is not supported");
  }
}

void read_numbers(const GgufMetadata& metadata, LlamaConfig& config) {
  if (metadata.has("llama.rope.freq_base")) {
    config.rope_base = metadata.number("llama.rope.freq_base");
  }
  check(std::isfinite(config.rope_base) && config.rope_base > 1.0,
        "key 'llama.rope.freq_base' is out of range: ", config.rope_base);
  config.rms_eps = static_cast<float>(metadata.number("llama.attention.layer_norm_rms_epsilon"));
  check(std::isfinite(config.rms_eps) && config.rms_eps >= 0.0F,
        "key 'llama.attention.layer_norm_rms_epsilon' is out of range: ", config.rms_eps);
}

LlamaConfig read(const GgufFile& file) {
  const GgufMetadata& metadata = file.metadata();
  check_architecture(metadata);
  LlamaConfig config;
  config.layers = positive(metadata, "llama.block_count");
  config.width = positive(metadata, "llama.embedding_length");
  config.ffn_width = positive(metadata, "llama.feed_forward_length");
  config.context = positive(metadata, "llama.context_length");
  read_heads(metadata, config);
  read_numbers(metadata, config);
  check(!file.has_tensor("rope_freqs.weight"),
        "tensor 'rope_freqs.weight' (scaled rotary frequencies) is not supported");
  config.tied_output = !file.has_tensor("output.weight");
  return config;
}

}  // namespace

LlamaConfig read_llama_config(const GgufFile& file) {
  LlamaConfig config;
  try {
    config = read(file);
  } catch (const Error& error) {
    throw Error(error.code(), concat(file.path().string(), ": ", error.what()));
  }
  // The embedding is the one tensor that every count of tokens can be held against.
  const std::uint64_t rows = file.tensor("token_embd.weight").rows();
  const bool has_key = file.metadata().has("llama.vocab_size");
  const std::uint64_t vocab = has_key ? file.metadata().unsigned_integer("llama.vocab_size") : rows;
  check(vocab <= static_cast<std::uint64_t>(std::numeric_limits<int>::max()), file.path().string(),
        ": key 'llama.vocab_size' is out of range: ", vocab);
  file.tensor("token_embd.weight", {static_cast<std::uint64_t>(config.width), vocab});
  config.vocab = static_cast<int>(vocab);
  return config;
}

}  // namespace headwise
