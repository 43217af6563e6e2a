#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/check.h"
#include "headwise/kv_cache.h"
#include "kv/fp8_scales.h"
#include "kv/key_bounds.h"
#include "kv/open_step.h"
#include "kv/page_pool.h"
#include "kv/prefix_cache.h"
#include "kv/sequence_table.h"
#include "kv/step_tables.h"

namespace headwise {

/// What a KvCache is made of, and what its parts share.
class KvCacheState {
 public:
  explicit KvCacheState(const KvCacheOptions& options);

  const DeviceMemory& memory() const { return *options.memory; }
  int groups() const { return static_cast<int>(pools.size()); }
  PagePool& pool(int group) { return *pools[static_cast<std::size_t>(group)]; }
  const PagePool& pool(int group) const { return *pools[static_cast<std::size_t>(group)]; }
  /// Throws Error(invalid_input) where there is no such group, or layer in it.
  void check_group(int group) const;
  void check_layer(int group, int layer) const;

  /// A sequence that is in no open step. Throws Error(invalid_input) as at() does, too.
  Sequence& at_rest(SequenceId id) {
    Sequence& sequence = sequences.at(id);
    check(!sequence.in_step, "sequence ", id.serial, " is in an open step");
    return sequence;
  }

  /// Tokens that a window reaches back; -1: all.
  std::int64_t window_left(int group) const { return pool(group).shape().group.shape.window_left; }

  /// Makes the prefix cache give up what it takes so that each group has wanted[group] free pages.
  /// Throws Error(not_possible) where that is too much; nothing has changed then.
  void make_room(std::span<const std::int64_t> wanted);

  void copy_page(int group, std::int32_t to, std::int32_t from, void* stream);

  /// Releases a sequence's pages first ... last - 1 in a group, where it has them.
  void release(int group, std::int32_t row, std::int32_t first, std::int32_t last);

  /// Lets other threads see the pools' figures.
  void publish();
  KvUsage usage(int group) const;

  KvCacheOptions options;
  std::vector<std::unique_ptr<PagePool>> pools;    // by group
  std::vector<int> windowed;                       // groups that have a window
  std::vector<Fp8Scales> scales;                   // by group
  std::vector<std::unique_ptr<KeyBounds>> bounds;  // by group; null: not kept
  SequenceTable sequences;
  StepTables step_tables;
  std::unique_ptr<PrefixCache> prefixes;  // null: none; after the pools, whose pages it holds
  OpenStep step;
  std::vector<std::int64_t> wanted;  // by group: scratch of make_room's callers
  std::int64_t copies_on_write = 0;

 private:
  mutable std::mutex usage_mutex_;
  std::vector<KvUsage> usage_;  // by group
};

}  // namespace headwise
