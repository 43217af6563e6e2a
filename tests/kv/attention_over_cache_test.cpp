// Attention over a cache's pages equals, bit for bit, attention over the same tokens laid out
// plainly, whatever the cache went through: forks, shared prefixes, parts of pages, copies on
// write, rollbacks, cuts and evictions.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "headwise/error.h"
#include "headwise/registry.h"
#include "tests/conformance/random.h"
#include "tests/kv/attention_run.h"
#include "tests/kv/plain_layer.h"
#include "tests/kv/token_numbers.h"

namespace headwise {
namespace {

using conformance::Rng;

constexpr std::int32_t kMaxTokens = 150;
constexpr int kMaxSequences = 7;
constexpr int kEvents = 700;

struct HistoryCase {
  const char* name;
  int page_size;
  DType q_type, full_kv, window_kv;
  std::int64_t full_pages, window_pages;  // tight: less than all sequences at their longest want
};

LayerGroup full_group(const HistoryCase& c) {
  return {.shape = {.q_heads = 4,
                    .kv_heads = 2,
                    .head_dim_qk = 64,
                    .head_dim_v = 64,
                    .q_type = c.q_type,
                    .kv_type = c.full_kv},
          .layers = 2};
}

LayerGroup window_group(const HistoryCase& c) {
  return {.shape = {.q_heads = 2,
                    .kv_heads = 1,
                    .head_dim_qk = 32,
                    .head_dim_v = 32,
                    .q_type = c.q_type,
                    .kv_type = c.window_kv,
                    .window_left = 19},
          .layers = 1};
}

KvCacheOptions options_of(const HistoryCase& c) {
  KvCacheOptions options;
  options.groups = {{.group = full_group(c), .pages = c.full_pages},
                    {.group = window_group(c), .pages = c.window_pages, .window_slack = 3}};
  options.page_size = c.page_size;
  options.max_sequences = kMaxSequences;
  options.max_tokens = kMaxTokens;
  options.hash_seed = 5;
  return options;
}

/// A sequence, and what a model would know of it.
struct Live {
  SequenceId id;
  TokenText text;
  std::vector<std::int32_t> to_come;  // of its prompt
  std::int32_t reused = 0;            // by its creation
  std::int32_t longest = 0;           // that it ever was
};

class History {
 public:
  explicit History(const HistoryCase& c) : cache_(options_of(c)), rng_(std::uint64_t(c.page_size)) {
    for (int group = 0; group < cache_.groups(); ++group)
      for (int layer = 0; layer < layers(group); ++layer)
        if (shape(group).kv_type == DType::f8e4m3)
          cache_.set_scales(group, layer, std::vector{0.9F / 448}, std::vector{1.1F / 448});
  }

  void event() {
    switch (live_.empty() ? 0 : rng_.below(12)) {
      case 0:
      case 1:
        return create();
      case 2:
        return fork();
      case 3:
        return truncate();
      case 4:
        return rng_.chance(3) ? free_one() : void();
      default:
        return step();
    }
  }

  KvCounters counters() const { return cache_.counters(); }
  int checks() const { return checks_; }
  int refused_steps() const { return refused_steps_; }
  int failed() const { return failed_; }

 private:
  const AttentionShape& shape(int group) const {
    return cache_.options().groups[std::size_t(group)].group.shape;
  }
  int layers(int group) const { return cache_.options().groups[std::size_t(group)].group.layers; }
  std::size_t some_live() { return std::size_t(rng_.below(std::int64_t(live_.size()))); }
  std::int32_t some_token() { return std::int32_t(rng_.below(2)); }

  /// An adapter, a tenant, or an image among the first tokens.
  PrefixKey some_key() {
    using Kind = PrefixExtra::Kind;
    switch (rng_.below(8)) {
      case 0:
        return {{.kind = Kind::adapter, .id = "a"}};
      case 1:
        return {{.kind = Kind::salt, .id = "a"}};
      case 2:
        return {{.kind = Kind::image, .id = "x", .first = 6, .tokens = 9}};
      case 3:
        return {{.kind = Kind::image, .id = "y", .first = 6, .tokens = 9}};
      default:
        return {};
    }
  }

  /// Begins as a text that was, or is, if it may; with its key, mostly.
  TokenText some_prompt() {
    TokenText prompt(some_key());
    if (!texts_.empty() && !rng_.chance(5)) prompt = rng_.pick(texts_);
    if (rng_.chance(9)) {
      TokenText other(some_key());
      for (const std::int32_t token : prompt.tokens()) other.push(token);
      prompt = other;
    }
    const std::int32_t most = std::min(prompt.length(), 80);
    prompt.cut(rng_.chance(2) ? most : std::int32_t(rng_.between(0, most)));
    for (std::int64_t tail = rng_.between(1, 40); tail > 0; --tail) prompt.push(some_token());
    return prompt;
  }

  void remember(const TokenText& text) {
    if (texts_.size() > 8) texts_.erase(texts_.begin() + rng_.below(4));
    texts_.push_back(text);
  }

  void create() {
    if (live_.size() == kMaxSequences) free_one();
    Live live{.text = some_prompt()};
    remember(live.text);
    const std::vector<std::int32_t> prompt = live.text.tokens();
    const PrefixHit hit = cache_.create(prompt, live.text.key());
    live.id = hit.sequence;
    live.reused = hit.reused_tokens;
    ASSERT_LT(hit.reused_tokens, std::int32_t(prompt.size()));
    ASSERT_EQ(cache_.length(live.id), hit.reused_tokens);
    live.text.cut(hit.reused_tokens);
    live.to_come.assign(prompt.rbegin(), prompt.rend() - hit.reused_tokens);
    live_.push_back(std::move(live));
  }

  void fork() {
    if (live_.size() == kMaxSequences) return;
    Live copy = live_[some_live()];
    copy.id = cache_.fork(copy.id);
    live_.push_back(std::move(copy));
  }

  void truncate() {
    Live& live = live_[some_live()];
    remember(live.text);
    const auto length =
        std::int32_t(std::max<std::int64_t>(0, live.text.length() - rng_.between(0, 9)));
    try {
      cache_.truncate(live.id, length);
      live.text.cut(length);
      live.to_come.clear();
    } catch (const Error& error) {  // a window has passed what would be needed
      ASSERT_EQ(error.code(), ErrorCode::invalid_input);
      ASSERT_TRUE(length < live.reused || length < live.longest - 3) << error.what();
    }
    ASSERT_EQ(cache_.length(live.id), live.text.length());
  }

  void free_one() {
    const std::size_t which = some_live();
    remember(live_[which].text);
    cache_.free(live_[which].id);
    live_.erase(live_.begin() + std::ptrdiff_t(which));
  }

  /// Adds new tokens to a text; returns how many.
  std::int32_t grow(Live& live) {
    std::int64_t count = 1;
    if (rng_.chance(3)) count = rng_.between(0, 40);
    if (rng_.chance(4)) count = std::int64_t(live.to_come.size());
    count = std::min<std::int64_t>({count, 40, kMaxTokens - live.text.length()});
    for (std::int64_t i = 0; i < count; ++i) {
      live.text.push(live.to_come.empty() ? some_token() : live.to_come.back());
      if (!live.to_come.empty()) live.to_come.pop_back();
    }
    return std::int32_t(count);
  }

  void step() {
    taking_.clear();
    std::vector<KvRequest> requests;
    const auto order = rng_.permutation(std::int64_t(live_.size()));
    const std::int64_t count = rng_.between(1, std::min<std::int64_t>(4, order.size()));
    for (std::int64_t r = 0; r < count; ++r) {
      Live& live = live_[std::size_t(order[std::size_t(r)])];
      taking_.push_back(&live);
      old_lengths_[std::size_t(r)] = live.text.length();
      const std::int32_t new_tokens = grow(live);
      requests.push_back({.sequence = live.id, .new_tokens = new_tokens});
      if (!rng_.chance(8)) requests.back().tokens = live.text.tokens();
    }
    try {
      KvStep open = cache_.begin(requests);
      append(open);
      if (rng_.chance(3)) compare(open);
      end(open);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::not_possible) << error.what();
      ++refused_steps_;
      for (std::size_t r = 0; r < taking_.size(); ++r) taking_[r]->text.cut(old_lengths_[r]);
      free_one();
      return;
    }
    for (Live* live : taking_) {
      ASSERT_EQ(cache_.length(live->id), live->text.length());
      live->longest = std::max(live->longest, live->text.length());
    }
  }

  void append(KvStep& open) {
    for (int group = 0; group < cache_.groups(); ++group)
      for (int layer = 0; layer < layers(group); ++layer) {
        std::vector<float> k, v;
        for (std::size_t r = 0; r < taking_.size(); ++r) {
          const auto pasts = taking_[r]->text.pasts().subspan(std::size_t(old_lengths_[r]));
          add_token_rows(pasts, shape(group), {group, layer, false}, k);
          add_token_rows(pasts, shape(group), {group, layer, true}, v);
        }
        const std::int64_t tokens =
            std::accumulate(open.q_lens().begin(), open.q_lens().end(), 0LL);
        const AttentionShape& s = shape(group);
        open.append_kv(Registry::builtin().find("cpu-portable"), group, layer,
                       dense(k.data(), DType::f32, {tokens, s.kv_heads, s.head_dim_qk}),
                       dense(v.data(), DType::f32, {tokens, s.kv_heads, s.head_dim_v}));
      }
  }

  void end(KvStep& open) {
    if (rng_.chance(6)) {
      open.rollback();
      for (std::size_t r = 0; r < taking_.size(); ++r) taking_[r]->text.cut(old_lengths_[r]);
      return;
    }
    if (!rng_.chance(4)) return open.commit();
    std::vector<std::int32_t> accepted;
    for (const std::int32_t q_len : open.q_lens())
      accepted.push_back(std::int32_t(rng_.between(0, q_len)));
    open.commit(accepted);
    for (std::size_t r = 0; r < taking_.size(); ++r)
      taking_[r]->text.cut(old_lengths_[r] + accepted[r]);
  }

  void compare(const KvStep& open) {
    const std::int64_t tokens = std::accumulate(open.q_lens().begin(), open.q_lens().end(), 0LL);
    if (tokens == 0) return;
    std::vector<const TokenText*> texts;
    for (const Live* live : taking_) texts.push_back(&live->text);
    for (int group = 0; group < cache_.groups(); ++group) {
      const AttentionShape& s = shape(group);
      std::vector<float> numbers;
      for (std::int64_t i = 0; i < tokens * s.q_heads * s.head_dim_qk; ++i)
        numbers.push_back(float(rng_.uniform(-2.0, 2.0)));
      const StoredRows q(s.q_type, numbers, {tokens, s.q_heads, s.head_dim_qk});
      StepBatch step;
      step.q = q.view();
      open.describe(group, step);
      for (int layer = 0; layer < layers(group); ++layer) compare(step, group, layer, texts);
    }
  }

  void compare(const StepBatch& step, int group, int layer,
               const std::vector<const TokenText*>& texts) {
    const RunArgs scales = scales_of(cache_, group, layer);
    const PlainLayer plain(shape(group), {group, layer, false}, step.tables.page_size, texts,
                           scales);
    StepBatch plain_step = step;
    plain_step.tables = plain.tables();
    for (const Backend* backend : cpu_backends()) {
      const PlanOptions options{.threads = 1 + int(rng_.below(2)),
                                .batch_invariant = rng_.chance(2)};
      const auto got =
          attend(*backend, shape(group), step, cache_.layer(group, layer), scales, options);
      const auto wanted = attend(*backend, shape(group), plain_step, plain.view(), scales, options);
      ASSERT_EQ(got.has_value(), wanted.has_value());
      if (!got) continue;
      ++checks_;
      EXPECT_EQ(got->row, wanted->row);
      const bool same =
          got->out == wanted->out &&
          std::memcmp(got->lse.data(), wanted->lse.data(), got->lse.size() * sizeof(float)) == 0;
      if (!same) ++failed_;
      EXPECT_TRUE(same || failed_ > 5)
          << backend->name() << ", group " << group << ", layer " << layer;
    }
  }

  KvCache cache_;
  Rng rng_;
  std::vector<Live> live_;
  std::vector<TokenText> texts_;               // that others may begin as
  std::vector<Live*> taking_;                  // the step's, by request
  std::array<std::int32_t, 4> old_lengths_{};  // of those
  int checks_ = 0;
  int refused_steps_ = 0;
  int failed_ = 0;
};

class AttentionOverCache : public testing::TestWithParam<HistoryCase> {};

TEST_P(AttentionOverCache, EqualsAttentionOverTheSameTokensBitForBit) {
  History history(GetParam());
  for (int i = 0; i < kEvents; ++i) {
    SCOPED_TRACE(i);
    history.event();
    if (HasFatalFailure() || history.failed() > 0) return;
  }
  // The history was one of which there was something to get wrong.
  const KvCounters counters = history.counters();
  EXPECT_GT(history.checks(), 100);
  EXPECT_GT(history.refused_steps(), 0);
  EXPECT_GT(counters.hits, 10);
  EXPECT_GT(counters.partial_hits, 3);
  EXPECT_GT(counters.copies_on_write, 10);
  EXPECT_GT(counters.evictions, 10);
  EXPECT_GT(counters.evicted_window_pages, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Histories, AttentionOverCache,
    testing::Values(HistoryCase{"Page4Bf16", 4, DType::bf16, DType::bf16, DType::bf16, 75, 45},
                    HistoryCase{"Page16Bf16", 16, DType::bf16, DType::bf16, DType::f16, 20, 14},
                    HistoryCase{"Page4F32", 4, DType::f32, DType::f32, DType::i8, 70, 50},
                    HistoryCase{"Page16Fp8", 16, DType::bf16, DType::f8e4m3, DType::i8, 24, 12},
                    HistoryCase{"Page5F16", 5, DType::f16, DType::i8, DType::f8e4m3, 60, 40}),
    [](const auto& c) { return std::string(c.param.name); });

}  // namespace
}  // namespace headwise
