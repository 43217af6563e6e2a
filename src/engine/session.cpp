#include "engine/session.h"

#include <algorithm>

#include "core/check.h"
#include "core/log.h"
#include "core/thread_scope.h"
#include "engine/generator.h"
#include "engine/process_memory.h"
#include "headwise/kv_calibration.h"

namespace headwise {
namespace {

AttentionOptions attention_options(const SessionOptions& options) {
  const std::int64_t chunk = std::min<std::int64_t>(options.chunk, options.capacity);
  return {.backend = options.backend,
          .threads = options.threads,
          .max_tokens = static_cast<std::int32_t>(chunk),
          .max_context = options.capacity};
}

/// Of one text at a time, and the one before it while it is looked up; what is left of earlier ones
/// is given up for it. A page is there to copy one that the text is cut in.
KvCacheOptions cache_options(const AttentionShape& shape, int layers,
                             const AttentionOptions& attention) {
  KvCacheOptions options;
  options.page_size = preferred_page_size(shape, attention);
  options.max_sequences = 2;
  options.max_tokens = attention.max_context;
  options.groups = {
      {.group = {.shape = shape, .layers = layers},
       .pages = (attention.max_context + options.page_size - 1) / options.page_size + 1}};
  return options;
}

double milliseconds_since(Session::Clock::time_point start) {
  return 1e3 * std::chrono::duration<double>(Session::Clock::now() - start).count();
}

}  // namespace

Session::Session(const LlamaWeights& weights, const Tokenizer& tokenizer,
                 const SessionOptions& options)
    : weights_(&weights), tokenizer_(&tokenizer), options_(options) {
  check(options.capacity >= 1, "capacity must be at least 1, is ", options.capacity);
  check(options.chunk >= 1, "chunk must be at least 1, is ", options.chunk);
  const AttentionOptions attention = attention_options(options);
  const AttentionShape shape = attention_shape(weights.config, options.kv_type);
  cache_ = std::make_unique<KvCache>(cache_options(shape, weights.config.layers, attention));
  transformer_ = std::make_unique<Transformer>(weights, *cache_, attention);
  sequence_ = cache_->create();
  if (options.check) transformer_->check_attention();
}

Generation Session::answer(std::vector<TokenId> prompt, std::int64_t max_new,
                           const GenerateEvents& events, Clock::time_point start) {
  const auto tokens = static_cast<std::int64_t>(prompt.size());
  check(tokens >= 1, "the prompt has no token of this model's vocabulary");
  check(tokens <= weights_->config.context, "the prompt has ", tokens,
        " tokens, the model's context is ", weights_->config.context);
  check(tokens <= options_.capacity, "the prompt has ", tokens, " tokens, the cache has room for ",
        options_.capacity);
  check(max_new >= 1, "max_new must be at least 1, is ", max_new);
  const ThreadScope threads(threads_or_all(options_.threads));
  if (options_.kv_type == DType::f8e4m3 && !cache_->has_scales(0, 0)) calibrate(prompt);

  // The last new token needs no slot: no later one looks at it.
  const std::int64_t room = std::min<std::int64_t>(weights_->config.context, options_.capacity);
  const std::int64_t most_new = std::min(max_new, room - tokens + 1);
  Generation generation;
  generation.prompt_tokens = prompt;
  generation.finish = Finish::stopped;
  begin(std::move(prompt));
  Generator generator(*transformer_, *cache_, sequence_, text_, events);
  if (const std::optional<TokenId> first = generator.prefill()) {
    generation.ttft_ms = milliseconds_since(start);
    generation.finish = generator.decode(*first, most_new, *tokenizer_, generation);
  }
  if (generation.finish == Finish::max_new && most_new < max_new)
    generation.finish = Finish::context;
  generator.report(generation);
  report(generation);
  return generation;
}

/// Makes the prompt the text, and the sequence the one that holds most of it: the last text's, cut
/// to what both begin with, or what the cache finds.
void Session::begin(std::vector<TokenId> prompt) {
  const PrefixHit hit = cache_->create(prompt);
  const auto held = std::span(text_).first(static_cast<std::size_t>(cache_->length(sequence_)));
  const auto asked = std::span(prompt).first(prompt.size() - 1);  // one is left to compute
  const auto common =
      static_cast<std::int32_t>(std::ranges::mismatch(held, asked).in1 - held.begin());
  if (common > hit.reused_tokens) {
    cache_->free(hit.sequence);
    cache_->truncate(sequence_, common);
  } else {
    cache_->free(sequence_);
    sequence_ = hit.sequence;
  }
  text_ = std::move(prompt);
}

/// Finds the scales of K and V by a chunk of the prompt, run over a cache of F32.
void Session::calibrate(std::span<const TokenId> prompt) {
  SessionOptions options = options_;
  options.capacity = static_cast<std::int32_t>(
      std::min<std::int64_t>({std::ssize(prompt), options.chunk, options.capacity}));
  const AttentionOptions attention = attention_options(options);
  KvCache plain(
      cache_options(attention_shape(weights_->config), weights_->config.layers, attention));
  Transformer transformer(*weights_, plain, attention);
  KvCalibration calibration(cache_->options().groups.front().group);
  transformer.observe(&calibration);
  const SequenceId sequence = plain.create();
  transformer.forward(prompt.first(static_cast<std::size_t>(options.capacity)), sequence);
  calibration.apply(*cache_, 0);
  log(LogLevel::info, concat("KV in f8e4m3: scales by the first ", options.capacity, " tokens"));
}

void Session::report(Generation& generation) const {
  generation.kv_bytes = cache_->usage(0).reserved;
  if (options_.kv_type == DType::f8e4m3)
    generation.kv_saturated = static_cast<std::int64_t>(cache_->saturated(0));
  generation.peak_bytes = peak_memory_bytes();
  generation.backends = transformer_->attention().log_lines();
  if (const AttentionCheck* check = transformer_->attention_check())
    generation.check = {check->rows(), check->worst(), check->bound()};
}

}  // namespace headwise
