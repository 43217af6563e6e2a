#include "engine/generator.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "engine/stop_text.h"
#include "model/tokenizer/stream_decoder.h"

namespace headwise {

Generator::Generator(Transformer& transformer, KvCache& cache, SequenceId sequence,
                     std::vector<TokenId>& text, const Tokenizer& tokenizer, Sampler& sampler,
                     const GenerateEvents& events)
    : transformer_(transformer),
      cache_(cache),
      sequence_(sequence),
      text_(text),
      tokenizer_(tokenizer),
      sampler_(sampler),
      events_(events),
      reused_(cache.length(sequence)) {}

/// The next `tokens` tokens of the text. Draws the token that follows them where they are its last.
TokenId Generator::timed_step(std::size_t tokens, PhaseTime& time) {
  using Clock = std::chrono::steady_clock;
  const double attention_before = transformer_.attention_seconds();
  const Clock::time_point start = Clock::now();
  const auto done = static_cast<std::size_t>(cache_.length(sequence_));
  const auto told = std::span(text_).first(done + tokens);
  const TokenId next = step(told.last(tokens), told);
  time.seconds += std::chrono::duration<double>(Clock::now() - start).count();
  time.attention += transformer_.attention_seconds() - attention_before;
  time.tokens += static_cast<std::int64_t>(tokens);
  return next;
}

TokenId Generator::step(std::span<const TokenId> tokens, std::span<const TokenId> told) {
  // Models may have more logits than tokens, so that their number is a round one.
  const std::int64_t among =
      std::min<std::int64_t>(tokenizer_.vocab_size(), transformer_.vocab_size());
  const bool draws = told.size() == text_.size();
  if (!draws) {
    transformer_.extend(tokens, sequence_, told);
    return 0;
  }
  if (sampler_.greedy()) return transformer_.forward_to_likeliest(tokens, sequence_, told, among);
  const std::span<const float> logits = transformer_.forward(tokens, sequence_, told);
  return sampler_.draw(logits.first(static_cast<std::size_t>(among)));
}

std::optional<TokenId> Generator::prefill() {
  TokenId next = 0;
  for (auto done = static_cast<std::size_t>(reused_); done < text_.size();) {
    if (stopped()) return std::nullopt;
    const std::size_t count =
        std::min(text_.size() - done, static_cast<std::size_t>(transformer_.max_tokens()));
    next = timed_step(count, prefill_);
    done += count;
    if (events_.prefill)
      events_.prefill(static_cast<std::int64_t>(done), static_cast<std::int64_t>(text_.size()));
  }
  return next;
}

Finish Generator::decode(TokenId first, std::int64_t most, const std::string& stop,
                         Generation& generation) {
  // Said now, so that no log line comes between two pieces of text.
  if (most > 1) transformer_.prepare(Phase::decode);
  StreamDecoder text(tokenizer_);
  StopText until(stop);
  Finish finish = Finish::max_new;
  for (TokenId next = first;; next = timed_step(1, decode_)) {
    finish = Finish::end_token;
    if (tokenizer_.ends_generation(next)) break;
    generation.new_tokens.push_back(next);
    text_.push_back(next);
    emit(until.push(text.push(next)), generation);
    finish = Finish::stop_text;
    if (until.found()) break;
    finish = Finish::max_new;
    if (static_cast<std::int64_t>(generation.new_tokens.size()) >= most) break;
    finish = Finish::stopped;
    if (stopped()) break;
  }
  emit(until.push(text.finish()) + until.finish(), generation);
  return finish;
}

void Generator::emit(const std::string& piece, Generation& generation) const {
  generation.text += piece;
  if (events_.text && !piece.empty()) events_.text(piece);
}

void Generator::report(Generation& generation) const {
  generation.reused_tokens = reused_;
  generation.prefill_tok_s = prefill_.tokens_per_second();
  generation.decode_tok_s = decode_.tokens_per_second();
  if (decode_.tokens > 0) generation.tpot_ms = 1e3 / *generation.decode_tok_s;
  generation.attention_share_prefill = prefill_.attention_share();
  generation.attention_share_decode = decode_.attention_share();
}

}  // namespace headwise
