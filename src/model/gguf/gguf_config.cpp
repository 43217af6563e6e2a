#include "model/gguf/gguf_config.h"

#include <cmath>
#include <set>
#include <string>

#include "core/check.h"
#include "model/byte_reader.h"
#include "model/gguf/gguf.h"
#include "model/model_family.h"
#include "model/model_limits.h"
#include "model/rope_frequencies.h"

namespace headwise {
namespace {

/// The keys of a file's architecture, by what stands behind "llama."; remembers which were read.
class ModelKeys {
 public:
  explicit ModelKeys(const GgufMetadata& metadata)
      : metadata_(metadata), prefix_(std::string(metadata.string("general.architecture")) + ".") {}

  std::string full(std::string_view name) const { return prefix_ + std::string(name); }
  bool has(std::string_view name) { return metadata_.has(read(name)); }

  int count(std::string_view name, int most) {
    const std::string key = read(name);
    const std::uint64_t number = metadata_.unsigned_integer(key);
    check(number >= 1 && number <= static_cast<std::uint64_t>(most), "key ", quoted_name(key),
          " is out of range: ", number);
    return static_cast<int>(number);
  }
  int count_or(std::string_view name, int most, int otherwise) {
    return has(name) ? count(name, most) : otherwise;
  }

  /// Within `least` to 10^12, which no number of a model exceeds.
  double number(std::string_view name, double least) {
    const std::string key = read(name);
    const double number = metadata_.number(key);
    check(number >= least && number <= 1e12, "key ", quoted_name(key),
          " is out of range: ", number);
    return number;
  }
  double number_or(std::string_view name, double least, double otherwise) {
    return has(name) ? number(name, least) : otherwise;
  }

  std::string string_or(std::string_view name, std::string_view otherwise) {
    const std::string key = read(name);
    return std::string(metadata_.has(key) ? metadata_.string(key) : otherwise);
  }

  bool is_array(std::string_view name) { return metadata_.is_array(read(name)); }
  std::vector<bool> booleans(std::string_view name) { return metadata_.booleans(read(name)); }

  void refuse_others() const {
    for (const std::string_view key : metadata_.keys()) {
      check(!key.starts_with(prefix_) || read_.contains(key), "key ", quoted_name(key),
            " is not supported");
    }
  }

 private:
  std::string read(std::string_view name) { return *read_.insert(full(name)).first; }

  const GgufMetadata& metadata_;
  std::string prefix_;
  std::set<std::string, std::less<>> read_;
};

void read_heads(ModelKeys& keys, ModelConfig& config) {
  config.q_heads = keys.count("attention.head_count", kMostHeads);
  config.kv_heads = keys.count_or("attention.head_count_kv", kMostHeads, config.q_heads);
  check(config.q_heads % config.kv_heads == 0, keys.full("attention.head_count"), " ",
        config.q_heads, " is not a multiple of ", keys.full("attention.head_count_kv"), " ",
        config.kv_heads);
  if (!keys.has("attention.key_length")) {
    check(config.width % config.q_heads == 0, keys.full("embedding_length"), " ", config.width,
          " is not a multiple of ", keys.full("attention.head_count"), " ", config.q_heads);
  }
  config.head_dim =
      keys.count_or("attention.key_length", kLargestHeadDim, config.width / config.q_heads);
  check(config.head_dim % 2 == 0 && config.head_dim <= kLargestHeadDim, "the head dimension ",
        config.head_dim, config.head_dim % 2 == 0 ? " is out of range" : " is odd");
  for (const auto* name : {"attention.value_length", "rope.dimension_count"}) {
    const int other = keys.count_or(name, kLargestHeadDim, config.head_dim);
    check(other == config.head_dim, "key ", quoted_name(keys.full(name)), " is ", other,
          ": other than the head dimension ", config.head_dim, " is not supported");
  }
}

double read_base(ModelKeys& keys) {
  constexpr auto kKey = "rope.freq_base";
  if (keys.full(kKey).starts_with("gemma3.")) return keys.number(kKey, 1.0 + 1e-6);
  return keys.number_or(kKey, 1.0 + 1e-6, 10000.0);
}

/// A file that has a factor and no type means linear; one with neither is not stretched.
RopeConfig read_rope(ModelKeys& keys, const ModelConfig& config) {
  const double base = read_base(keys);
  keys.has("rope.scaling.finetuned");  // tells who made the model, not what it computes
  constexpr auto kFactor = "rope.scaling.factor";
  const std::string type =
      keys.string_or("rope.scaling.type", keys.has(kFactor) ? "linear" : "none");
  if (type == "none") return plain_rope(base, config.head_dim);
  if (type == "linear") return linear_rope(base, config.head_dim, keys.number(kFactor, 1.0));
  check(type == "yarn", "key ", quoted_name(keys.full("rope.scaling.type")), " is ",
        quoted_name(type), ": none, linear and yarn are supported");
  YarnScaling yarn{.factor = keys.number(kFactor, 1.0)};
  yarn.original_context =
      keys.count_or("rope.scaling.original_context_length", kLargestCount, config.context);
  yarn.beta_fast = keys.number_or("rope.scaling.yarn_beta_fast", 1e-6, yarn.beta_fast);
  yarn.beta_slow = keys.number_or("rope.scaling.yarn_beta_slow", 1e-6, yarn.beta_slow);
  return yarn_rope(base, config.head_dim, yarn);
}

/// Llama 3's stretching is not in keys, but in a tensor of divisors.
RopeConfig with_stored_factors(RopeConfig rope, const TensorTable& tensors) {
  constexpr std::string_view kTensor = "rope_freqs.weight";
  if (!tensors.has(kTensor)) return rope;
  check(!rope.scaling.starts_with("yarn"), "tensor ", quoted_name(kTensor),
        " beside yarn is not supported");
  std::vector<float> factors(rope.frequencies.size());
  tensors.at(kTensor, {factors.size()}).dequantise_to_f32(factors);
  try {
    return divided_rope(std::move(rope), factors);
  } catch (const Error& error) {
    throw Error(error.code(), concat("tensor ", quoted_name(kTensor), ": ", error.what()));
  }
}

std::vector<bool> read_pattern(ModelKeys& keys, int layers) {
  constexpr auto kKey = "attention.sliding_window_pattern";
  constexpr int kGemma3Pattern = 6;
  if (!keys.has(kKey) || !keys.is_array(kKey)) {
    return windowed_but_every(layers, keys.count_or(kKey, kLargestCount, kGemma3Pattern));
  }
  std::vector<bool> is_windowed = keys.booleans(kKey);
  check(std::ssize(is_windowed) == layers, "key ", quoted_name(keys.full(kKey)), " has ",
        is_windowed.size(), " values for ", layers, " layers");
  return is_windowed;
}

/// Gemma 3 files leave out the local layers' base, and the query scale: that of the 27B model alone
/// is not by the head dimension. Source: Gemma Team 2025, and the conversion of its checkpoints.
void read_gemma3(ModelKeys& keys, const RopeConfig& rope, ModelConfig& config) {
  constexpr int kLayersOf27B = 62;
  if (config.layers == kLayersOf27B) {
    config.attention_scale = static_cast<float>(1.0 / std::sqrt(config.width / config.q_heads));
  }
  const double local_base = keys.number_or("rope.freq_base_swa", 1.0 + 1e-6, 10000.0);
  const LayerKind local{.window = keys.count("attention.sliding_window", kLargestCount),
                        .rope = plain_rope(local_base, config.head_dim)};
  set_kinds(config, local, {.rope = rope}, read_pattern(keys, config.layers));
}

void read_layers(ModelKeys& keys, const TensorTable& tensors, ModelConfig& config) {
  RopeConfig rope = read_rope(keys, config);
  if (config.architecture == "gemma3") {
    check(!tensors.has("rope_freqs.weight"),
          "tensor 'rope_freqs.weight' in a gemma3 model is not "
          "supported");
    read_gemma3(keys, rope, config);
  } else {
    rope = with_stored_factors(std::move(rope), tensors);
    const bool windowed = config.architecture == "llama" && keys.has("attention.sliding_window");
    const int window = windowed ? keys.count("attention.sliding_window", kLargestCount) : 0;
    const LayerKind kind{.window = window, .rope = rope};
    set_kinds(config, kind, kind, std::vector<bool>(config.layers, windowed));
  }
  if (keys.has("attention.scale")) {
    config.attention_scale = static_cast<float>(keys.number("attention.scale", 1e-12));
  }
}

/// The embedding is the one tensor that every count of tokens can be held against.
void read_vocabulary(ModelKeys& keys, const TensorTable& tensors, ModelConfig& config) {
  const std::uint64_t rows = tensors.at("token_embd.weight").rows();
  check(rows <= kLargestCount, "tensor 'token_embd.weight' has ", rows, " rows");
  config.vocab = keys.count_or("vocab_size", kLargestCount, static_cast<int>(rows));
  tensors.at("token_embd.weight",
             {static_cast<std::uint64_t>(config.width), static_cast<std::uint64_t>(config.vocab)});
}

/// Large models are split into files, of which only the first has the configuration.
void check_not_split(const GgufMetadata& metadata) {
  constexpr std::string_view kKey = "split.count";
  if (!metadata.has(kKey)) return;
  const std::uint64_t parts = metadata.unsigned_integer(kKey);
  check(parts <= 1, "key ", quoted_name(kKey), " is ", parts,
        ": a model in several GGUF files is not supported");
}

ModelConfig read(const GgufFile& file) {
  check_not_split(file.metadata());
  ModelKeys keys(file.metadata());
  const TensorTable& tensors = file.table();
  const std::string_view architecture = file.metadata().string("general.architecture");
  check(architecture != "mistral",
        "architecture 'mistral' is not one of GGUF: llama stands for it");
  ModelConfig config = family_config(architecture);
  config.layers = keys.count("block_count", kMostLayers);
  config.width = keys.count("embedding_length", kLargestWidth);
  config.ffn_width = keys.count("feed_forward_length", kLargestFfnWidth);
  config.context = keys.count("context_length", kLargestCount);
  config.rms_eps = static_cast<float>(keys.number("attention.layer_norm_rms_epsilon", 0.0));
  read_heads(keys, config);
  set_usual_scales(config);
  if (config.architecture == "llama") {
    config.rope_pairs = RopePairs::neighbours;
    config.qkv_bias = tensors.has("blk.0.attn_q.bias");
  }
  config.tied_output = !tensors.has("output.weight");
  read_layers(keys, tensors, config);
  read_vocabulary(keys, tensors, config);
  keys.refuse_others();
  return config;
}

}  // namespace

ModelConfig read_gguf_config(const GgufFile& file) {
  return with_name(file.path().string(), [&] { return read(file); });
}

}  // namespace headwise
