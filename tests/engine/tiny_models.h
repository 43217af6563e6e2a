#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/model/gguf_writer.h"

namespace headwise {

/// A small model of random weights. Group size 2; the heads' width together is not the model's.
struct TinyModel {
  std::string name;                    ///< for people
  std::string architecture = "llama";  ///< of the file
  int layers = 2;
  int width = 20;
  int ffn_width = 28;
  int head_dim = 6;  ///< of 4 query heads and 2 KV heads
  int context = 80;
  int window = 0;  ///< 0: the file says nothing of it
  int spare_rows = 0;  ///< of the embedding, behind the vocabulary's
  bool tied_output = true;
  bool quantised = false;  ///< matrices in Q4_1, some in Q8_0, as files mix them; else in f32
  std::function<void(GgufWriter&)> more;  ///< adds what else the file has
};

/// For GoogleTest.
inline void PrintTo(const TinyModel& model, std::ostream* stream) { *stream << model.name; }

TinyModel llama_model();
TinyModel mistral_model();    ///< a window of 5 in all layers
TinyModel yarn_model();       ///< llama stretched by YaRN
TinyModel llama3_model();     ///< llama with stored frequency factors
TinyModel qwen2_model();      ///< biases, an output matrix of its own
TinyModel qwen3_model();      ///< norms of q and k
TinyModel gemma3_model();     ///< 7 layers: 5 with a window of 5, one without (linear x8), one with
TinyModel quantised_model();  ///< qwen3 of quantised blocks

/// One of each.
std::vector<TinyModel> every_model();

/// As a GGUF file with the tiny vocabulary (263 tokens) and no chat template: normally distributed
/// weights, the same for the same seed, large enough that attention looks at some keys more than
/// at others.
std::string gguf_of(const TinyModel& model, unsigned seed = 7);

}  // namespace headwise
