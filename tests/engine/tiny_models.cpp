#include "tests/engine/tiny_models.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/check.h"
#include "core/number_formats.h"
#include "tests/model/tiny_model.h"

namespace headwise {
namespace {

constexpr int kQHeads = 4;
constexpr int kKvHeads = 2;
constexpr std::uint32_t kF32 = 0;  // as GGUF files number the formats
constexpr std::uint32_t kQ4_1 = 3;
constexpr std::uint32_t kQ8_0 = 8;

using Floats = std::vector<float>;

/// A block of 32 as a step and 32 signed codes.
void write_q8_0(const float* x, Bytes& bytes) {
  const auto smaller = [](float a, float b) { return std::abs(a) < std::abs(b); };
  const float step = std::abs(*std::max_element(x, x + 32, smaller)) / 127.0F;
  bytes.number(float_to_f16(step));
  for (int i = 0; i < 32; ++i)
    bytes.number(static_cast<std::int8_t>(step == 0.0F ? 0.0F : std::round(x[i] / step)));
}

/// A block of 32 as a step, a minimum, and 32 codes of 4 bits: the i-th below the (i + 16)-th.
void write_q4_1(const float* x, Bytes& bytes) {
  const auto [least, most] = std::minmax_element(x, x + 32);
  const float step = (*most - *least) / 15.0F;
  const auto code = [&](int i) {
    return static_cast<std::uint8_t>(step == 0.0F ? 0.0F : std::round((x[i] - *least) / step));
  };
  bytes.number(float_to_f16(step)).number(float_to_f16(*least));
  for (int i = 0; i < 16; ++i)
    bytes.number(static_cast<std::uint8_t>(code(i) | (code(i + 16) << 4)));
}

std::string encoded(const Floats& values, std::uint32_t format) {
  Bytes bytes;
  if (format == kF32)
    for (const float value : values) bytes.number(value);
  for (std::size_t at = 0; format != kF32 && at < values.size(); at += 32)
    format == kQ8_0 ? write_q8_0(&values[at], bytes) : write_q4_1(&values[at], bytes);
  return bytes.text();
}

/// Writes random tensors to a file.
class Tensors {
 public:
  Tensors(GgufWriter& writer, bool quantised, unsigned seed)
      : writer_(writer), quantised_(quantised), random_(seed) {}

  void matrix(const std::string& name, int columns, int rows) {
    const bool finer = name.find("embd") != std::string::npos ||
                       name.find("attn_v") != std::string::npos ||
                       name.find("down") != std::string::npos;
    const std::uint32_t format = !quantised_ ? kF32 : finer ? kQ8_0 : kQ4_1;
    const Floats values = normal(columns * rows, 0.0F, 1.5F / std::sqrt(float(columns)));
    writer_.tensor(name, {std::uint64_t(columns), std::uint64_t(rows)}, format,
                   encoded(values, format));
  }
  void vector(const std::string& name, int size, float mean) {
    writer_.tensor(name, {std::uint64_t(size)}, kF32, encoded(normal(size, mean, 0.3F), kF32));
  }
  void norm(const std::string& name, int size) { vector(name + ".weight", size, 1.0F); }

 private:
  Floats normal(int count, float mean, float deviation) {
    std::normal_distribution<float> distribution(mean, deviation);
    Floats values;
    for (int i = 0; i < count; ++i) values.push_back(distribution(random_));
    return values;
  }

  GgufWriter& writer_;
  bool quantised_;
  std::mt19937 random_;
};

void write_layer(Tensors& tensors, const TinyModel& model, const std::string& prefix) {
  const int q = kQHeads * model.head_dim;
  const int kv = kKvHeads * model.head_dim;
  tensors.norm(prefix + "attn_norm", model.width);
  tensors.matrix(prefix + "attn_q.weight", model.width, q);
  tensors.matrix(prefix + "attn_k.weight", model.width, kv);
  tensors.matrix(prefix + "attn_v.weight", model.width, kv);
  if (model.architecture == "qwen2") {
    tensors.vector(prefix + "attn_q.bias", q, 0.2F);
    tensors.vector(prefix + "attn_k.bias", kv, -0.2F);
    tensors.vector(prefix + "attn_v.bias", kv, 0.1F);
  }
  if (model.architecture == "qwen3" || model.architecture == "gemma3") {
    tensors.norm(prefix + "attn_q_norm", model.head_dim);
    tensors.norm(prefix + "attn_k_norm", model.head_dim);
  }
  tensors.matrix(prefix + "attn_output.weight", q, model.width);
  tensors.norm(prefix + "ffn_norm", model.width);
  tensors.matrix(prefix + "ffn_gate.weight", model.width, model.ffn_width);
  tensors.matrix(prefix + "ffn_up.weight", model.width, model.ffn_width);
  tensors.matrix(prefix + "ffn_down.weight", model.ffn_width, model.width);
  if (model.architecture == "gemma3") {
    tensors.norm(prefix + "post_attention_norm", model.width);
    tensors.norm(prefix + "post_ffw_norm", model.width);
  }
}

void write_keys(GgufWriter& writer, const TinyModel& model) {
  const std::string& prefix = model.architecture;
  const auto count = [&](const char* name, int value) {
    writer.u32(prefix + name, static_cast<std::uint32_t>(value));
  };
  writer.string("general.architecture", prefix);
  count(".block_count", model.layers);
  count(".context_length", model.context);
  count(".embedding_length", model.width);
  count(".feed_forward_length", model.ffn_width);
  count(".attention.head_count", kQHeads);
  count(".attention.head_count_kv", kKvHeads);
  count(".attention.key_length", model.head_dim);
  count(".attention.value_length", model.head_dim);
  if (model.window > 0) count(".attention.sliding_window", model.window);
  writer.f32(prefix + ".attention.layer_norm_rms_epsilon", 1e-5F);
  writer.f32(prefix + ".rope.freq_base", 100.0F);
}

}  // namespace

TinyModel llama_model() { return {.name = "llama"}; }

TinyModel mistral_model() { return {.name = "mistral", .layers = 3, .window = 5}; }

TinyModel yarn_model() {
  return {.name = "yarn", .head_dim = 8, .more = [](GgufWriter& writer) {
            writer.string("llama.rope.scaling.type", "yarn")
                .f32("llama.rope.scaling.factor", 4.0F)
                .u32("llama.rope.scaling.original_context_length", 20);
          }};
}

TinyModel llama3_model() {
  return {.name = "llama3", .more = [](GgufWriter& writer) {
            writer.tensor("rope_freqs.weight", {3}, kF32, encoded({1.0F, 2.5F, 8.0F}, kF32));
          }};
}

TinyModel qwen2_model() { return {.name = "qwen2", .architecture = "qwen2", .tied_output = false}; }

TinyModel qwen3_model() { return {.name = "qwen3", .architecture = "qwen3", .head_dim = 10}; }

TinyModel gemma3_model() {
  return {.name = "gemma3",
          .architecture = "gemma3",
          .layers = 7,
          .head_dim = 8,
          .window = 5,
          .more = [](GgufWriter& writer) {
            writer.string("gemma3.rope.scaling.type", "linear")
                .f32("gemma3.rope.scaling.factor", 8.0F)
                .f32("gemma3.rope.freq_base_swa", 30.0F);
          }};
}

TinyModel quantised_model() {
  return {.name = "quantised",
          .architecture = "qwen3",
          .width = 64,
          .ffn_width = 96,
          .head_dim = 24,
          .quantised = true};
}

std::vector<TinyModel> every_model() {
  return {llama_model(), mistral_model(), yarn_model(),   llama3_model(),
          qwen2_model(), qwen3_model(),   gemma3_model(), quantised_model()};
}

std::string gguf_of(const TinyModel& model, unsigned seed) {
  const TinyVocabulary vocabulary;
  const auto vocab = static_cast<int>(vocabulary.tokens.size()) + model.spare_rows;
  GgufWriter writer;
  write_keys(writer, model);
  if (model.more) model.more(writer);
  vocabulary.write_keys(writer);
  Tensors tensors(writer, model.quantised, seed);
  tensors.matrix("token_embd.weight", model.width, vocab);
  for (int layer = 0; layer < model.layers; ++layer)
    write_layer(tensors, model, concat("blk.", layer, "."));
  tensors.norm("output_norm", model.width);
  if (!model.tied_output) tensors.matrix("output.weight", model.width, vocab);
  return writer.text();
}

}  // namespace headwise
