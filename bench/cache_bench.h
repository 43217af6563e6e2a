#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/goals.h"

namespace headwise::bench {

/// What the KV cache's bookkeeping costs one core, of one kind of work. K and V themselves are not
/// written: that is append_kv's time.
struct CacheRow {
  std::string name;         ///< "cache grow"
  std::string what;         ///< the work, for people
  std::int64_t tokens = 0;  ///< in a round
  double ns = 0.0;          ///< a token: the median of the rounds
  double ns_min = 0.0, ns_max = 0.0;
  double at_most = 0.0;  ///< the goal; 0: there is none

  std::vector<Judged> judged() const {
    if (at_most == 0.0) return {};
    return {{.what = "ns a token", .bound = at_most, .at_most = true, .measured = ns}};
  }
};

struct CacheBenchOptions {
  std::string only;        ///< a regular expression: rows whose name has it; empty: all
  double measure_s = 0.5;  ///< of rounds, at least five
  std::int64_t scale = 1;  ///< sequences and tokens are divided by it: for tests
  std::function<void(std::string_view)> progress = [](std::string_view) {};
  std::function<bool()> stop = [] { return false; };  ///< asked between rounds
};

/// Whether a row's name has the regular expression `only`.
bool has_cache_row(const std::string& only);

/// Times a cache of pages of 16 tokens: a sequence of a million tokens, steps of many, 10,000
/// sequences on one prefix of 32K tokens, prompts that are cached and prompts that push others out.
std::vector<CacheRow> bench_cache(const CacheBenchOptions& options);

}  // namespace headwise::bench
