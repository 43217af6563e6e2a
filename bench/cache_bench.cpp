#include "bench/cache_bench.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <numeric>
#include <regex>

#include "bench/timing.h"
#include "headwise/kv_cache.h"

namespace headwise::bench {
namespace {

constexpr int kPageSize = 16;
constexpr double kBookkeeping = 20.0;  // ns a token
constexpr double kNoGoal = 0.0;        // a fork's work is done by pages: it says little by tokens
constexpr double kHashing = 200.0;     // ns a token, beside
constexpr int kLeastRounds = 5;
constexpr const char* kNames[] = {"cache grow", "cache grow by one", "cache decode",
                                  "cache fork", "cache crowd",       "cache store",
                                  "cache find", "cache evict"};

bool is_wanted(const std::string& name, const std::string& only) {
  return only.empty() || std::regex_search(name, std::regex(only));
}

/// A cache whose pages are as small as may be: what they hold costs nothing.
std::unique_ptr<KvCache> make_cache(std::int64_t tokens, int sequences, std::int32_t longest,
                                    bool prefixes, std::int64_t spare_pages = 0) {
  KvCacheOptions options;
  options.groups = {
      {.group = {.shape = {.q_heads = 1, .kv_heads = 1, .head_dim_qk = 1, .head_dim_v = 1},
                 .layers = 1},
       .pages = tokens / kPageSize + sequences + spare_pages}};
  options.page_size = kPageSize;
  options.max_sequences = sequences;
  options.max_tokens = longest;
  options.prefix_cache = prefixes;
  return std::make_unique<KvCache>(options);
}

void grow(KvCache& cache, SequenceId sequence, std::int32_t tokens,
          std::span<const std::int32_t> all = {}) {
  const KvRequest request{.sequence = sequence, .new_tokens = tokens, .tokens = all};
  cache.begin({&request, 1}).commit();
}

std::vector<std::int32_t> some_tokens(std::int64_t count, std::int32_t first) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

class CacheBench {
 public:
  explicit CacheBench(const CacheBenchOptions& options)
      : options_(options),
        million_((std::int64_t{1} << 20) / options.scale),
        prefix_(static_cast<std::int32_t>((1 << 15) / options.scale)),
        crowd_(static_cast<int>(std::max<std::int64_t>(10000 / options.scale, 2))) {}

  std::vector<CacheRow> run() {
    one_sequence("cache grow", "one sequence of 1M tokens, 512 a step", 512, million_);
    one_sequence("cache grow by one", "one sequence of 64K tokens, one a step", 1, million_ / 16);
    decode();
    fork();
    crowd();
    store();
    find();
    evict();
    return std::move(rows_);
  }

 private:
  using Round = std::function<void()>;

  /// Rounds of `timed`, each behind one of `before`, which is not.
  void measure(const char* name, const char* what, std::int64_t tokens, double at_most,
               const Round& before, const Round& timed) {
    options_.progress(name);
    Samples samples;
    for (double spent = 0.0;
         static_cast<int>(samples.size()) < kLeastRounds || spent < options_.measure_s;) {
      if (options_.stop()) return;
      before();
      const auto start = std::chrono::steady_clock::now();
      timed();
      samples.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      spent += samples.back();
    }
    const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
    const double ns = 1e9 / static_cast<double>(tokens);
    rows_.push_back({.name = name,
                     .what = what,
                     .tokens = tokens,
                     .ns = median(samples) * ns,
                     .ns_min = *least * ns,
                     .ns_max = *most * ns,
                     .at_most = at_most});
  }

  bool skips(const char* name) const { return options_.stop() || !is_wanted(name, options_.only); }

  void one_sequence(const char* name, const char* what, std::int32_t step, std::int64_t tokens) {
    if (skips(name)) return;
    const auto cache = make_cache(tokens, 1, static_cast<std::int32_t>(tokens), false);
    measure(
        name, what, tokens, kBookkeeping, [] {},
        [&] {
          const SequenceId sequence = cache->create();
          for (std::int64_t done = 0; done < tokens; done += step) grow(*cache, sequence, step);
          cache->free(sequence);
        });
  }

  void decode() {
    constexpr const char* kName = "cache decode";
    constexpr int kSequences = 256;
    constexpr int kSteps = 256;
    if (skips(kName)) return;
    const auto cache =
        make_cache(std::int64_t{kSequences} * (4096 + kSteps), kSequences, 4096 + kSteps, false);
    std::vector<KvRequest> step(kSequences);
    for (KvRequest& request : step) {
      request = {.sequence = cache->create(), .new_tokens = 1};
      grow(*cache, request.sequence, 4096);
    }
    measure(
        kName, "256 sequences behind 4K, a token each a step, 256 steps",
        std::int64_t{kSequences} * kSteps, kBookkeeping,
        [&] {
          for (const KvRequest& request : step) cache->truncate(request.sequence, 4096);
        },
        [&] {
          for (int i = 0; i < kSteps; ++i) cache->begin(step).commit();
        });
  }

  void fork() {
    constexpr const char* kName = "cache fork";
    if (skips(kName)) return;
    const auto cache = make_cache(prefix_, crowd_ + 1, prefix_, false);
    const SequenceId source = cache->create();
    grow(*cache, source, prefix_);
    std::vector<SequenceId> forks;
    measure(
        kName, "10,000 forks of a sequence of 32K tokens, made and ended",
        std::int64_t{crowd_} * prefix_, kNoGoal, [] {},
        [&] {
          for (int i = 0; i < crowd_; ++i) forks.push_back(cache->fork(source));
          for (const SequenceId id : forks) cache->free(id);
          forks.clear();
        });
  }

  void crowd() {
    constexpr const char* kName = "cache crowd";
    constexpr std::int32_t kNew = 64;
    if (skips(kName)) return;
    const auto cache =
        make_cache(prefix_ + std::int64_t{crowd_} * kNew, crowd_ + 1, prefix_ + kNew, false);
    const SequenceId source = cache->create();
    grow(*cache, source, prefix_);
    std::vector<KvRequest> step;
    for (int i = 0; i < crowd_; ++i) step.push_back({.sequence = cache->fork(source)});
    for (KvRequest& request : step) request.new_tokens = 1;
    measure(
        kName, "10,000 sequences on one prefix of 32K tokens, 64 steps of a token each",
        std::int64_t{crowd_} * kNew, kBookkeeping,
        [&] {
          for (const KvRequest& request : step) cache->truncate(request.sequence, prefix_);
        },
        [&] {
          for (int i = 0; i < kNew; ++i) cache->begin(step).commit();
        });
  }

  void store() {
    constexpr const char* kName = "cache store";
    if (skips(kName)) return;
    const auto cache = make_cache(million_, 1, static_cast<std::int32_t>(million_), true);
    const std::vector<std::int32_t> tokens = some_tokens(million_, 0);
    measure(
        kName, "a sequence of 1M tokens, told, 512 a step: hashed and stored", million_, kHashing,
        [&] { cache->clear_prefixes(); },
        [&] {
          const SequenceId sequence = cache->create();
          constexpr std::int32_t kStep = 512;
          for (std::int64_t done = kStep; done <= million_; done += kStep)
            grow(*cache, sequence, kStep, std::span(tokens).first(static_cast<std::size_t>(done)));
          cache->free(sequence);
        });
  }

  void find() {
    constexpr const char* kName = "cache find";
    constexpr int kPrompts = 64;
    if (skips(kName)) return;
    const auto cache = make_cache(prefix_, kPrompts + 1, prefix_ + kPageSize, true);
    const std::vector<std::int32_t> tokens = some_tokens(prefix_ + 1, 0);
    const SequenceId source = cache->create();
    grow(*cache, source, prefix_, std::span(tokens).first(static_cast<std::size_t>(prefix_)));
    std::vector<SequenceId> found;
    measure(
        kName, "prompts of 32K tokens that are cached: hashed, compared, taken over",
        std::int64_t{kPrompts} * prefix_, kHashing,
        [&] {
          for (const SequenceId id : found) cache->free(id);
          found.clear();
        },
        [&] {
          for (int i = 0; i < kPrompts; ++i) found.push_back(cache->create(tokens).sequence);
        });
  }

  void evict() {
    constexpr const char* kName = "cache evict";
    constexpr int kPrompts = 64;
    if (skips(kName)) return;
    const auto cache = make_cache(2 * std::int64_t{prefix_}, 1, prefix_, true);
    std::int32_t first = 0;
    measure(
        kName, "prompts of 32K tokens that push others out of a cache of two",
        std::int64_t{kPrompts} * prefix_, kHashing, [] {},
        [&] {
          for (int i = 0; i < kPrompts; ++i) {
            const std::vector<std::int32_t> tokens = some_tokens(prefix_, ++first);
            const SequenceId sequence = cache->create(tokens).sequence;
            grow(*cache, sequence, prefix_ - cache->length(sequence), tokens);
            cache->free(sequence);
          }
        });
  }

  const CacheBenchOptions& options_;
  std::int64_t million_;
  std::int32_t prefix_;
  int crowd_;
  std::vector<CacheRow> rows_;
};

}  // namespace

bool has_cache_row(const std::string& only) {
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char* name) { return is_wanted(name, only); });
}

std::vector<CacheRow> bench_cache(const CacheBenchOptions& options) {
  return CacheBench(options).run();
}

}  // namespace headwise::bench
