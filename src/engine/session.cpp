#include "engine/session.h"

#include <algorithm>

#include "core/check.h"
#include "core/log.h"
#include "core/thread_scope.h"
#include "engine/generator.h"
#include "engine/kv_scales.h"
#include "engine/process_memory.h"
#include "engine/text_cache.h"

namespace headwise {
namespace {

AttentionOptions attention_options(const SessionOptions& options) {
  const std::int64_t chunk = std::min<std::int64_t>(options.chunk, options.capacity);
  return {.backend = options.backend,
          .threads = options.threads,
          .max_tokens = static_cast<std::int32_t>(chunk),
          .max_context = options.capacity};
}

std::vector<LayerGroup> groups_of(const ModelWeights& weights, DType kv_type) {
  return layer_groups(weights.config, q_type_of(weights.maths), kv_type);
}

double milliseconds_since(Session::Clock::time_point start) {
  return 1e3 * std::chrono::duration<double>(Session::Clock::now() - start).count();
}

}  // namespace

Session::Session(ModelWeights& weights, const Tokenizer& tokenizer, const SessionOptions& options)
    : weights_(&weights), tokenizer_(&tokenizer), options_(options) {
  check(options.capacity >= 1, "capacity must be at least 1, is ", options.capacity);
  check(options.chunk >= 1, "chunk must be at least 1, is ", options.chunk);
  const ThreadScope threads(threads_or_all(options.threads));
  const AttentionOptions attention = attention_options(options);
  cache_ =
      std::make_unique<KvCache>(text_cache_options(groups_of(weights, options.kv_type), attention));
  touch_first_pages(*cache_, attention.max_tokens);
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
  if (options_.kv_type == DType::f8e4m3 && !cache_->has_scales(0, 0))
    find_kv_scales(*weights_, *cache_, attention_options(options_), prompt);

  // The last new token needs no slot: no later one looks at it.
  const std::int64_t room = std::min<std::int64_t>(weights_->config.context, options_.capacity);
  const std::int64_t most_new = std::min(max_new, room - tokens + 1);
  Generation generation;
  generation.prompt_tokens = prompt;
  generation.finish = Finish::stopped;
  begin(std::move(prompt));
  Sampler sampler(options_.sampling);
  Generator generator(*transformer_, *cache_, sequence_, text_, *tokenizer_, sampler, events);
  if (const std::optional<TokenId> first = generator.prefill()) {
    generation.ttft_ms = milliseconds_since(start);
    generation.finish = generator.decode(*first, most_new, options_.stop, generation);
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
  if (common > hit.reused_tokens && can_be_cut(common)) {
    cache_->free(hit.sequence);
    cache_->truncate(sequence_, common);
  } else {
    cache_->free(sequence_);
    sequence_ = hit.sequence;
  }
  text_ = std::move(prompt);
}

/// Whether all windows still have what the token behind the first `length` sees of the sequence.
bool Session::can_be_cut(std::int32_t length) const {
  for (int group = 0; group < cache_->groups(); ++group) {
    const std::int64_t window =
        cache_->options().groups[static_cast<std::size_t>(group)].group.shape.window_left;
    if (window < 0 || length == 0) continue;
    const std::int64_t first = std::max<std::int64_t>(0, length - window);
    const auto page = static_cast<std::size_t>(first / cache_->options().page_size);
    const std::span<const std::int32_t> pages = cache_->pages(sequence_, group);
    if (page < pages.size() && pages[page] < 0) return false;  // past them nothing is seen
  }
  return true;
}

void Session::report(Generation& generation) const {
  std::int64_t saturated = 0;
  for (int group = 0; group < cache_->groups(); ++group) {
    generation.kv_bytes += cache_->usage(group).reserved;
    saturated += static_cast<std::int64_t>(cache_->saturated(group));
  }
  if (options_.kv_type == DType::f8e4m3) generation.kv_saturated = saturated;
  generation.peak_bytes = peak_memory_bytes();
  for (const StepAttention& attention : transformer_->attention())
    generation.backends.insert(generation.backends.end(), attention.log_lines().begin(),
                               attention.log_lines().end());
  if (transformer_->attention_checks().empty()) return;
  generation.check.emplace();
  for (const AttentionCheck& check : transformer_->attention_checks()) {
    generation.check->rows += check.rows();
    generation.check->worst_error = std::max(generation.check->worst_error, check.worst());
    generation.check->bound = check.bound();
  }
}

}  // namespace headwise
