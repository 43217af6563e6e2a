#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/generation.h"
#include "engine/model_weights.h"
#include "engine/transformer.h"
#include "headwise/kv_cache.h"
#include "model/tokenizer/tokenizer.h"
#include "ops/sampling.h"

namespace headwise {

struct SessionOptions {
  std::int32_t capacity = 0;   ///< tokens of a text in the cache, at least 1
  DType kv_type = DType::f32;  ///< f8e4m3: scales are found by the first text's first chunk
  std::int64_t chunk = 512;    ///< tokens of a prefill step, at least 1
  std::string backend;         ///< forced, as for Registry::choose; "": the best one
  int threads = 0;             ///< CPU threads; 0: all that the process may run on
  bool check = false;          ///< compare sampled rows of attention with `reference`
  SamplingOptions sampling;    ///< the seed counts anew with each text
  std::string stop;            ///< an answer ends before this text; "": nowhere
};

/// A model's texts, one after another over one KV cache: what the last text began with, or pages of
/// earlier ones, is not computed again.
class Session {
 public:
  using Clock = std::chrono::steady_clock;

  /// The weights and the tokenizer must outlive it. What a text's first step writes to is in memory
  /// then. Throws Error as Registry::choose does, and where memory is too small.
  Session(ModelWeights& weights, const Tokenizer& tokenizer, const SessionOptions& options);

  /// Runs a prompt in chunks, then one step a token, at most `max_new`. Time to first token counts
  /// from `start`. Throws Error where the prompt is empty, and with both numbers where it is longer
  /// than the model's context, or than the capacity.
  Generation answer(std::vector<TokenId> prompt, std::int64_t max_new,
                    const GenerateEvents& events = {}, Clock::time_point start = Clock::now());

 private:
  void begin(std::vector<TokenId> prompt);
  bool can_be_cut(std::int32_t length) const;
  void report(Generation& generation) const;

  ModelWeights* weights_;
  const Tokenizer* tokenizer_;
  SessionOptions options_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<Transformer> transformer_;
  SequenceId sequence_;        // of the last text, or of the one under way
  std::vector<TokenId> text_;  // the sequence holds a beginning of it
};

}  // namespace headwise
