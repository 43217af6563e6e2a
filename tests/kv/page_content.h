#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headwise/kv_cache.h"

namespace headwise {

using Tokens = std::vector<std::int32_t>;

/// A group of f32 layers with one KV head of one element.
KvGroupOptions small_group(std::int64_t pages, std::int64_t window_left = -1,
                           std::int32_t window_slack = 0, int layers = 1);

/// For each token a hash of all that its K and V depend on: the tokens up to it, and the extras
/// that reach any of them.
std::vector<std::uint64_t> prefix_hashes(std::span<const std::int32_t> tokens,
                                         const PrefixKey& key);

/// The pages of a cache of small groups, filled so that every slot tells whose it is: K is the
/// token, V a part of its prefix hash, both with the group and the layer in them.
class PageContent {
 public:
  explicit PageContent(KvCache& cache);

  void write(int group, std::int32_t page, std::int32_t slot, std::int32_t token,
             std::uint64_t hash) const;
  bool holds(int group, std::int32_t page, std::int32_t slot, std::int32_t token,
             std::uint64_t hash) const;

  /// Writes tokens `first` and on of a sequence into the pages of its block table.
  void write_all(int group, std::span<const std::int32_t> table,
                 std::span<const std::int32_t> tokens, std::span<const std::uint64_t> hashes,
                 std::size_t first) const;

  /// The first token whose page is there and holds something else; -1: none.
  std::int64_t first_wrong(int group, std::span<const std::int32_t> table,
                           std::span<const std::int32_t> tokens,
                           std::span<const std::uint64_t> hashes) const;

 private:
  struct Layer {
    float* k;
    float* v;
    int salt;
  };

  int page_size_;
  std::vector<std::vector<Layer>> groups_;
};

}  // namespace headwise
