#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "headwise/prefix_key.h"
#include "tests/kv/page_content.h"

namespace headwise {

/// Pages of tokens that sequences made known, all of them: what a prefix cache that never forgets
/// would hold.
class KnownPrefixes {
 public:
  KnownPrefixes(int page_size, int min_partial)
      : page_size_(page_size), min_partial_(min_partial) {}

  /// All full pages of a sequence.
  void add(const Tokens& tokens, const PrefixKey& key);

  /// Tokens of the longest beginning of a prompt that is known, one token left out.
  std::int64_t longest(const Tokens& prompt, const PrefixKey& key) const;

  void clear() { pages_.clear(); }

 private:
  struct Page {
    Tokens tokens;
    std::uint64_t extras;
    std::uint64_t chain;  // of this page and those before it
  };

  std::uint64_t extras_of(const PrefixKey& key, std::size_t page) const;
  const Page* find(std::uint64_t before, const Tokens& tokens, std::uint64_t extras) const;

  int page_size_;
  int min_partial_;
  std::map<std::uint64_t, std::vector<Page>> pages_;  // by the chain before them
};

}  // namespace headwise
