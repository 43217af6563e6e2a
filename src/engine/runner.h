#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model_weights.h"
#include "engine/session.h"
#include "model/chat/chat_template.h"
#include "model/model_file.h"
#include "model/tokenizer/tokenizer.h"

namespace headwise {

struct GenerateOptions {
  std::string prompt;  ///< any text, not empty
  bool raw = false;    ///< leave the chat template out; special tokens may be written in the prompt
  std::int64_t max_new = 256;    ///< tokens, at least 1; fewer where the model's context ends
  std::int64_t chunk = 512;      ///< tokens of a prefill step, at least 1
  std::string backend;           ///< forced, as for Registry::choose; "": the best one
  int threads = 0;               ///< CPU threads; 0: all that the process may run on
  bool check = false;            ///< compare sampled rows of attention with `reference`
  std::optional<DType> kv_type;  ///< of the cache; absent: q's, f32 or bf16 by the maths
  SamplingOptions sampling;      ///< greedy by default
  std::string stop;              ///< an answer ends before this text; "": nowhere
};

/// What a model is opened with.
struct ModelOptions {
  std::optional<Maths> maths;  ///< absent: bf16 where the machine is fast at it
};

/// A model in memory, and generation with it. For one thread at a time.
class Runner {
 public:
  /// Reads a GGUF file or a Hugging Face folder. Throws Error naming what is wrong with it.
  explicit Runner(const std::filesystem::path& model, const ModelOptions& options = {});

  const ModelConfig& config() const { return weights_.config; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  ModelWeights& weights() { return weights_; }

  /// The prompt's tokens. Throws Error where it is empty, or has no chat template and is not raw.
  std::vector<TokenId> encode(const GenerateOptions& options) const;

  /// A conversation's tokens, the assistant's turn opened at its end. Throws Error where the model
  /// has no chat template.
  std::vector<TokenId> encode(std::span<const ChatMessage> conversation) const;

  /// Runs the prompt in chunks, then one step a token. Throws Error on bad options, with both
  /// numbers where the prompt is longer than the model's context, and as Registry::choose does.
  Generation generate(const GenerateOptions& options, const GenerateEvents& events = {});

  /// For several texts over one cache, which has room for the model's context, or what fits in a
  /// quarter of memory. Of the options prompt, raw and max_new do not count. The runner must
  /// outlive it.
  Session session(const GenerateOptions& options);

 private:
  SessionOptions session_options(const GenerateOptions& options, std::int64_t tokens) const;

  ModelFile file_;
  Tokenizer tokenizer_;
  ModelWeights weights_;
};

}  // namespace headwise
