// One thread changes a cache while others read forks that it handed to them: they find what was
// there when the fork was made.

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "headwise/error.h"
#include "headwise/registry.h"
#include "tests/conformance/random.h"
#include "tests/kv/attention_run.h"
#include "tests/kv/exact_attention.h"
#include "tests/kv/token_numbers.h"

namespace headwise {
namespace {

constexpr int kPageSize = 4;
constexpr int kRounds = 20000;
constexpr std::int32_t kMaxTokens = 56;

KvCacheOptions tight_cache() {
  const AttentionShape shape{.q_heads = 2,
                             .kv_heads = 1,
                             .head_dim_qk = 16,
                             .head_dim_v = 16,
                             .q_type = DType::f32,
                             .kv_type = DType::f32};
  AttentionShape windowed = shape;
  windowed.window_left = 9;
  KvCacheOptions options;
  options.groups = {{.group = {.shape = shape, .layers = 2}, .pages = 60},
                    {.group = {.shape = windowed, .layers = 1}, .pages = 40}};
  options.page_size = kPageSize;
  options.max_sequences = 16;
  options.max_tokens = kMaxTokens;
  options.hash_seed = 9;
  return options;
}

/// A fork on its way to a reader and back.
struct Handed {
  SequenceId id;
  TokenText text;
};

class Queue {
 public:
  void put(Handed handed) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(handed));
    changed_.notify_one();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }
  /// Waits; nothing once the queue is closed and empty.
  std::optional<Handed> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_closed_ || !waiting_.empty(); });
    return pop();
  }
  std::optional<Handed> take_if_any() {
    const std::lock_guard lock(mutex_);
    return pop();
  }

 private:
  std::optional<Handed> pop() {
    if (waiting_.empty()) return {};
    Handed first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Handed> waiting_;
  bool is_closed_ = false;
};

/// Closes a queue at its own end, lest readers wait for ever.
struct Closing {
  Queue& queue;
  ~Closing() { queue.close(); }
};

/// Reads forks and says what is wrong with them.
class Reader {
 public:
  Reader(const KvCache& cache, const char* backend)
      : cache_(cache), backend_(Registry::builtin().find(backend)) {}

  void work(Queue& from, Queue& to) {
    while (std::optional<Handed> handed = from.take()) {
      try {
        if (fault_.empty()) judge(*handed);
      } catch (const Error& error) {
        fault_ = error.what();
      }
      to.put(std::move(*handed));
      ++read_;
    }
  }

  const std::string& fault() const { return fault_; }
  int read() const { return read_; }

 private:
  void judge(const Handed& handed) {
    for (int group = 0; group < 2; ++group) {
      const KvUsage usage = cache_.usage(group);
      if (usage.reserved != usage.used + usage.cached + usage.free || usage.shared > usage.used)
        fault_ += "usage does not add up; ";
    }
    if (cache_.length(handed.id) != handed.text.length()) fault_ += "length differs; ";
    for (const auto& [group, layer] : {std::pair{0, 0}, {0, 1}, {1, 0}})
      judge(handed, group, layer);
  }

  /// What the token behind the last one sees, against what K and V must be.
  void judge(const Handed& handed, int group, int layer) {
    const AttentionShape& shape = cache_.options().groups[std::size_t(group)].group.shape;
    const std::vector<std::int32_t> q_lens{1}, kv_lens{handed.text.length()}, q_start = kv_lens;
    const std::vector<float> q(std::size_t(shape.q_heads * shape.head_dim_qk), 0.75F);
    StepBatch step;
    step.q = dense(q.data(), DType::f32, {1, shape.q_heads, shape.head_dim_qk});
    step.q_lens = q_lens;
    step.kv_lens = kv_lens;
    step.q_start = q_start;
    step.tables = cache_.tables(handed.id, group);
    const auto answer =
        attend(backend_, shape, step, cache_.layer(group, layer), {}, {.threads = 1});
    const ExactKeys keys = keys_of(handed.text, shape, group, layer);
    const std::vector<double> exact_q(q.begin(), q.end());
    const ExactAnswer exact = exact_attention(shape, exact_q, 1, q_start[0], {keys});
    const std::string fault = answer ? fault_of(shape, *answer, 0, exact) : "refused";
    if (!fault.empty()) fault_ += "group " + std::to_string(group) + ": " + fault;
  }

  static ExactKeys keys_of(const TokenText& text, const AttentionShape& shape, int group,
                           int layer) {
    std::vector<float> k, v;
    add_token_rows(text.pasts(), shape, {group, layer, false}, k);
    add_token_rows(text.pasts(), shape, {group, layer, true}, v);
    ExactKeys keys{.k = {k.begin(), k.end()}, .v = {v.begin(), v.end()}};
    for (int i = 0; i < text.length(); ++i) keys.positions.push_back(i);
    return keys;
  }

  const KvCache& cache_;
  const Backend& backend_;
  std::string fault_;
  int read_ = 0;
};

/// The one thread that changes the cache.
class Writer {
 public:
  Writer(KvCache& cache, Queue& to, Queue& back) : cache_(cache), to_(to), back_(back) {}

  void round() {
    while (const auto handed = back_.take_if_any()) end(*handed);
    if (own_.size() < 4) return create();
    const std::size_t which = std::size_t(rng_.below(std::int64_t(own_.size())));
    Handed& own = own_[which];
    switch (rng_.below(8)) {
      case 0:
        return drop(which);
      case 1:
        return cut(own);
      case 2:
      case 3:
      case 4:
        return hand_out(own);
      default:
        return grow(own, std::int32_t(rng_.between(1, 7)));
    }
  }

  void finish() {
    while (out_ > 0)
      if (const auto handed = back_.take_if_any())
        end(*handed);
      else
        std::this_thread::yield();
    while (!own_.empty()) drop(0);
  }

 private:
  /// Prompts begin alike, so that pages are shared through the prefix cache, too.
  void create() {
    std::vector<std::int32_t> prompt(std::size_t(rng_.between(6, 24)), 0);
    for (std::size_t i = 0; i < prompt.size(); ++i)
      prompt[i] = i < 9 ? std::int32_t(i % 2) : std::int32_t(rng_.below(2));
    const PrefixHit hit = cache_.create(prompt);
    Handed own{.id = hit.sequence, .text = TokenText()};
    for (std::int32_t i = 0; i < hit.reused_tokens; ++i) own.text.push(prompt[std::size_t(i)]);
    own_.push_back(std::move(own));
    grow(own_.back(), std::int32_t(prompt.size()) - hit.reused_tokens, prompt);
  }

  void hand_out(const Handed& own) {
    if (own.text.length() == 0 || out_ == 8) return;
    to_.put({.id = cache_.fork(own.id), .text = own.text});
    ++out_;
  }

  void end(const Handed& handed) {
    cache_.free(handed.id);
    --out_;
  }

  void drop(std::size_t which) {
    cache_.free(own_[which].id);
    own_.erase(own_.begin() + std::ptrdiff_t(which));
  }

  void cut(Handed& own) {
    const std::int32_t length = std::max(0, own.text.length() - std::int32_t(rng_.between(1, 6)));
    try {
      cache_.truncate(own.id, length);
      own.text.cut(length);
    } catch (const Error&) {  // a window has passed what would be needed
    }
  }

  void grow(Handed& own, std::int32_t count, std::span<const std::int32_t> prompt = {}) {
    const std::int32_t length = own.text.length();
    if (length + count > kMaxTokens) return;
    for (std::int32_t i = length; i < length + count; ++i)
      own.text.push(prompt.empty() ? std::int32_t(rng_.below(2)) : prompt[std::size_t(i)]);
    try {
      KvStep step = cache_.begin(std::vector<KvRequest>{
          {.sequence = own.id, .new_tokens = count, .tokens = own.text.tokens()}});
      for (const auto& [group, layer] : {std::pair{0, 0}, {0, 1}, {1, 0}})
        append(step, group, layer, own.text.pasts().last(std::size_t(count)));
      if (!rng_.chance(8)) return step.commit();
    } catch (const Error& error) {  // out of pages: readers hold them
      EXPECT_EQ(error.code(), ErrorCode::not_possible) << error.what();
    }
    own.text.cut(length);  // rolled back
  }

  void append(KvStep& step, int group, int layer, std::span<const std::uint64_t> pasts) {
    const AttentionShape& shape = cache_.options().groups[std::size_t(group)].group.shape;
    std::vector<float> k, v;
    add_token_rows(pasts, shape, {group, layer, false}, k);
    add_token_rows(pasts, shape, {group, layer, true}, v);
    const auto tokens = std::int64_t(pasts.size());
    step.append_kv(Registry::builtin().find("cpu-portable"), group, layer,
                   dense(k.data(), DType::f32, {tokens, shape.kv_heads, shape.head_dim_qk}),
                   dense(v.data(), DType::f32, {tokens, shape.kv_heads, shape.head_dim_v}));
  }

  KvCache& cache_;
  Queue& to_;
  Queue& back_;
  conformance::Rng rng_{23};
  std::vector<Handed> own_;
  int out_ = 0;  // forks that readers have
};

TEST(ConcurrentReaders, FindTheForksThatTheyWereHanded) {
  KvCache cache(tight_cache());
  Queue to, back;
  std::deque<Reader> readers;
  for (const char* backend : {"cpu-portable", "reference", "cpu-portable"})
    readers.emplace_back(cache, backend);
  std::vector<std::jthread> threads;
  const Closing closing{to};  // whatever comes
  for (Reader& reader : readers) threads.emplace_back([&] { reader.work(to, back); });
  Writer writer(cache, to, back);
  for (int i = 0; i < kRounds; ++i) writer.round();
  writer.finish();
  to.close();
  threads.clear();
  int read = 0;
  for (const Reader& reader : readers) {
    EXPECT_EQ(reader.fault(), "");
    read += reader.read();
  }
  EXPECT_GT(read, 100);
  EXPECT_EQ(cache.sequences(), 0);
  for (int group = 0; group < 2; ++group) EXPECT_EQ(cache.usage(group).used, 0);
  EXPECT_GT(cache.counters().hits, 10);
  EXPECT_GT(cache.counters().copies_on_write, 10);
  EXPECT_GT(cache.counters().evictions, 10);
}

}  // namespace
}  // namespace headwise
