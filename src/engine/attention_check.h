#pragma once

#include <cstdint>

#include "headwise/attention_shape.h"
#include "headwise/kv_cache.h"

namespace headwise {

/// Compares sampled rows of a run's attention with the backend `reference`.
class AttentionCheck {
 public:
  /// Looks at the layers of a group of the cache, which must outlive it.
  AttentionCheck(const KvCache& cache, int group)
      : shape_(cache.options().groups[static_cast<std::size_t>(group)].group.shape),
        cache_(&cache),
        group_(group) {}

  /// Looks at the out, f32, of a step of one request that has just run over the group's `layer`: at
  /// its last row and one more, in a few layers of each step.
  void compare(const StepBatch& step, int layer);

  std::int64_t rows() const { return rows_; }  ///< compared so far
  double worst() const { return worst_; }      ///< |out - exact| / |exact| of a row, the largest
  double bound() const;                        ///< that worst() may reach
  bool passed() const { return worst_ <= bound(); }

 private:
  void compare_row(const StepBatch& step, int layer, std::int64_t row);

  AttentionShape shape_;
  const KvCache* cache_;
  int group_;
  std::int64_t rows_ = 0;
  double worst_ = 0.0;
};

}  // namespace headwise
