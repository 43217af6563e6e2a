#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/generation.h"
#include "engine/transformer.h"
#include "headwise/kv_cache.h"
#include "ops/sampling.h"

namespace headwise {

/// What the steps of a phase took.
struct PhaseTime {
  double seconds = 0.0;
  double attention = 0.0;  ///< seconds
  std::int64_t tokens = 0;

  std::optional<double> tokens_per_second() const {
    return tokens > 0 ? std::optional(static_cast<double>(tokens) / seconds) : std::nullopt;
  }
  std::optional<double> attention_share() const {
    return tokens > 0 ? std::optional(attention / seconds) : std::nullopt;
  }
};

/// A generation under way: a text whose sequence grows behind what it holds of it, and what
/// its steps took.
class Generator {
 public:
  /// `text` is the prompt, of which the sequence holds a beginning; new tokens are added to it. All
  /// must outlive it.
  Generator(Transformer& transformer, KvCache& cache, SequenceId sequence,
            std::vector<TokenId>& text, const Tokenizer& tokenizer, Sampler& sampler,
            const GenerateEvents& events);

  /// The first new token; absent where it was stopped.
  std::optional<TokenId> prefill();

  /// Adds tokens to `generation`, `first` being the next one, until there are `most` or their text
  /// comes to `stop`.
  Finish decode(TokenId first, std::int64_t most, const std::string& stop, Generation& generation);

  /// Fills in the rates and times of `generation`.
  void report(Generation& generation) const;

 private:
  bool stopped() const { return events_.stop && events_.stop(); }
  TokenId timed_step(std::size_t tokens, PhaseTime& time);
  TokenId step(std::span<const TokenId> tokens, std::span<const TokenId> told);
  void emit(const std::string& piece, Generation& generation) const;

  Transformer& transformer_;
  KvCache& cache_;
  SequenceId sequence_;
  std::vector<TokenId>& text_;  // the prompt, then the new tokens
  const Tokenizer& tokenizer_;
  Sampler& sampler_;
  const GenerateEvents& events_;
  std::int32_t reused_;  // tokens of the prompt
  PhaseTime prefill_;
  PhaseTime decode_;
};

}  // namespace headwise
