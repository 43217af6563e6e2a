#include "engine/runner.h"

#include <algorithm>
#include <chrono>

#include "core/check.h"
#include "core/log.h"
#include "core/thread_scope.h"
#include "engine/process_memory.h"
#include "engine/transformer.h"
#include "model/chat_template.h"
#include "model/stream_decoder.h"
#include "ops/sampling.h"

namespace headwise {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What the steps of a phase took.
struct PhaseTime {
  double seconds = 0.0;
  double attention = 0.0;  // seconds
  std::int64_t tokens = 0;

  std::optional<double> tokens_per_second() const {
    return tokens > 0 ? std::optional(static_cast<double>(tokens) / seconds) : std::nullopt;
  }
  std::optional<double> attention_share() const {
    return tokens > 0 ? std::optional(attention / seconds) : std::nullopt;
  }
};

/// A greedy generation under way: a sequence that grows, and what its steps took.
class Generator {
 public:
  Generator(Transformer& transformer, SequenceId sequence, const GenerateEvents& events)
      : transformer_(transformer), sequence_(sequence), events_(events) {}

  /// The first new token; absent where it was stopped.
  std::optional<TokenId> prefill(std::span<const TokenId> prompt);

  /// Adds tokens to `generation`, `first` being the next one, until there are `most`.
  Finish decode(TokenId first, std::int64_t most, const Tokenizer& tokenizer,
                Generation& generation);

  /// Fills in the numbers of `generation`.
  void report(Generation& generation) const;

 private:
  bool stopped() const { return events_.stop && events_.stop(); }
  TokenId timed_step(std::span<const TokenId> tokens, PhaseTime& time);
  void emit(const std::string& piece, Generation& generation) const;

  Transformer& transformer_;
  SequenceId sequence_;
  const GenerateEvents& events_;
  PhaseTime prefill_;
  PhaseTime decode_;
};

/// A step, and the token that follows it.
TokenId Generator::timed_step(std::span<const TokenId> tokens, PhaseTime& time) {
  const double attention_before = transformer_.attention().seconds();
  const Clock::time_point start = Clock::now();
  const TokenId next = argmax(transformer_.forward(tokens, sequence_));
  time.seconds += seconds_since(start);
  time.attention += transformer_.attention().seconds() - attention_before;
  time.tokens += static_cast<std::int64_t>(tokens.size());
  return next;
}

std::optional<TokenId> Generator::prefill(std::span<const TokenId> prompt) {
  TokenId next = 0;
  for (std::size_t done = 0; done < prompt.size();) {
    if (stopped()) return std::nullopt;
    const std::size_t count =
        std::min(prompt.size() - done, static_cast<std::size_t>(transformer_.max_tokens()));
    next = timed_step(prompt.subspan(done, count), prefill_);
    done += count;
    if (events_.prefill) {
      events_.prefill(static_cast<std::int64_t>(done), static_cast<std::int64_t>(prompt.size()));
    }
  }
  return next;
}

Finish Generator::decode(TokenId first, std::int64_t most, const Tokenizer& tokenizer,
                         Generation& generation) {
  // Said now, so that no log line comes between two pieces of text.
  if (most > 1) transformer_.attention().prepare(Phase::decode);
  StreamDecoder text(tokenizer);
  Finish finish = Finish::max_new;
  for (TokenId next = first;; next = timed_step({&generation.new_tokens.back(), 1}, decode_)) {
    finish = Finish::end_token;
    if (tokenizer.ends_generation(next)) break;
    generation.new_tokens.push_back(next);
    emit(text.push(next), generation);
    finish = Finish::max_new;
    if (static_cast<std::int64_t>(generation.new_tokens.size()) >= most) break;
    finish = Finish::stopped;
    if (stopped()) break;
  }
  emit(text.finish(), generation);
  return finish;
}

void Generator::emit(const std::string& piece, Generation& generation) const {
  generation.text += piece;
  if (events_.text && !piece.empty()) events_.text(piece);
}

void Generator::report(Generation& generation) const {
  generation.prefill_tok_s = prefill_.tokens_per_second();
  generation.decode_tok_s = decode_.tokens_per_second();
  if (decode_.tokens > 0) generation.tpot_ms = 1e3 / *generation.decode_tok_s;
  generation.attention_share_prefill = prefill_.attention_share();
  generation.attention_share_decode = decode_.attention_share();
  generation.peak_bytes = peak_memory_bytes();
  generation.backends = transformer_.attention().log_lines();
  if (const AttentionCheck* check = transformer_.attention_check()) {
    generation.check = {check->rows(), check->worst(), check->bound()};
  }
}

/// Of one sequence of at most `tokens` tokens.
KvCacheOptions cache_options(const LlamaConfig& config, int page_size, std::int32_t tokens) {
  KvCacheOptions options;
  options.groups = {{.group = {.shape = attention_shape(config), .layers = config.layers},
                     .pages = (tokens + page_size - 1) / page_size}};
  options.page_size = page_size;
  options.max_tokens = tokens;
  options.prefix_cache = false;
  return options;
}

void check_options(const GenerateOptions& options) {
  check(!options.prompt.empty(), "the prompt is empty");
  check(options.max_new >= 1, "max_new must be at least 1, is ", options.max_new);
  check(options.chunk >= 1, "chunk must be at least 1, is ", options.chunk);
  check(options.threads >= 0, "threads must not be negative, is ", options.threads);
}

}  // namespace

const char* name_of(Finish finish) {
  switch (finish) {
    case Finish::end_token:
      return "end_token";
    case Finish::max_new:
      return "max_new";
    case Finish::context:
      return "context";
    case Finish::stopped:
      return "stopped";
  }
  return "";
}

Runner::Runner(const std::filesystem::path& model)
    : file_(model), tokenizer_(file_), weights_(load_llama_weights(file_)) {}

std::vector<TokenId> Runner::encode(const GenerateOptions& options) const {
  check_options(options);
  if (const std::size_t lost = tokenizer_.unencodable_bytes(options.prompt); lost > 0) {
    log(LogLevel::warning, concat(lost,
                                  " bytes of the prompt are in no token of this model's "
                                  "vocabulary and are left out"));
  }
  if (options.raw) return tokenizer_.encode(options.prompt, SpecialText::parsed);
  const ChatMessage question{.role = "user", .content = options.prompt};
  return ChatTemplate(file_).encode(tokenizer_, {&question, 1});
}

Generation Runner::generate(const GenerateOptions& options, const GenerateEvents& events) const {
  const Clock::time_point start = Clock::now();
  const ThreadScope threads(threads_or_all(options.threads));
  Generation generation;
  generation.prompt_tokens = encode(options);
  const auto prompt = static_cast<std::int64_t>(generation.prompt_tokens.size());
  const std::int64_t context = weights_.config.context;
  check(prompt >= 1, "the prompt has no token of this model's vocabulary");
  check(prompt <= context, "the prompt has ", prompt, " tokens, the model's context is ", context);
  // The last new token needs no slot: no later one looks at it.
  const std::int64_t most_new = std::min(options.max_new, context - prompt + 1);
  const AttentionOptions attention{
      .backend = options.backend,
      .threads = options.threads,
      .max_tokens = static_cast<std::int32_t>(std::min(options.chunk, prompt)),
      .max_context = static_cast<std::int32_t>(prompt + most_new - 1)};
  const int page_size = preferred_page_size(attention_shape(weights_.config), attention);
  KvCache cache(cache_options(weights_.config, page_size, attention.max_context));
  Transformer transformer(weights_, cache, attention);
  if (options.check) transformer.check_attention();

  Generator generator(transformer, cache.create(), events);
  generation.finish = Finish::stopped;
  if (const std::optional<TokenId> first = generator.prefill(generation.prompt_tokens)) {
    generation.ttft_ms = 1e3 * seconds_since(start);
    generation.finish = generator.decode(*first, most_new, tokenizer_, generation);
  }
  if (generation.finish == Finish::max_new && most_new < options.max_new) {
    generation.finish = Finish::context;
  }
  generator.report(generation);
  generation.kv_bytes = cache.usage(0).reserved;
  return generation;
}

}  // namespace headwise
