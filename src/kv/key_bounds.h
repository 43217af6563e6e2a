#pragma once

#include <cstdint>
#include <memory>

#include "headwise/append_kv.h"
#include "headwise/device_memory.h"
#include "headwise/kv_memory.h"
#include "headwise/step_batch.h"

namespace headwise {

/// The least and the greatest number of each element of a page's keys, in every KV head and layer,
/// on the CPU: what a query's product with a key of the page cannot pass (Tang et al. 2024, Quest,
/// section 3.3). Of keys as they are stored. A page's bounds begin anew where its first slot is
/// written; keys that were cut off loosen them, no more.
class KeyBounds {
 public:
  KeyBounds(const LayerGroup& group, std::int64_t pages);

  /// A step's new keys are in the layer's pages. `k_scale` is as AppendArgs has it.
  void note_step(int layer, const StepBatch& step, const KvView& kv, const float* k_scale);

  void copy_page(std::int32_t to, std::int32_t from);

  /// The greatest product that `query`, [head_dim_qk], can have with a key of a page; infinite
  /// where a key holds no number.
  float bound(int layer, std::int32_t page, int kv_head, const float* query) const;

 private:
  struct Range {
    float least, greatest;
  };

  Range* of(int layer, std::int64_t page, int kv_head) const;
  void note_key(Range* ranges, bool is_first, const KvView& kv, std::int64_t element, float scale);

  LayerGroup group_;
  std::int64_t pages_;
  std::shared_ptr<std::byte> ranges_;  // Range [layers, pages, kv_heads, head_dim_qk]
};

}  // namespace headwise
