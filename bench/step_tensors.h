#pragma once

#include <cstdint>
#include <vector>

#include "bench/buffer.h"
#include "bench/workload.h"
#include "headwise/kv_binding.h"
#include "headwise/plan.h"
#include "headwise/step_batch.h"

namespace headwise::bench {

/// Bytes of one copy of a step's tensors: q, out, K, V and their scales.
std::int64_t bytes_a_copy(const AttentionShape& shape, const Workload& workload, int page_size);

/// A step's tensors on the CPU: random numbers (q and keys of variance 1, so that logits have it
/// too), K and V in pages that lie in shuffled order. There are several copies, to be run in
/// rotation, so that no run finds the last one's data in a cache. All views point in here.
class StepTensors {
 public:
  /// Same seed, same numbers. `copies` >= 1. Throws std::bad_alloc.
  StepTensors(const AttentionShape& shape, const Workload& workload, int page_size, int copies,
              std::uint64_t seed);

  int copies() const { return static_cast<int>(copies_.size()); }
  int page_size() const { return page_size_; }

  /// The step over the first copy.
  StepBatch step();
  KvView kv(int copy) const;
  /// Arguments to run the step over `copy`; `kv` and `workspace` are the caller's to fill in.
  RunArgs args(int copy);

  /// The block table's row of a request, [columns].
  const std::int32_t* table(std::int64_t request) const;

  /// Fills out of `copy` with NaN.
  void poison(int copy);
  const Buffer& q(int copy) const { return copies_[static_cast<std::size_t>(copy)].q; }
  const Buffer& out(int copy) const { return copies_[static_cast<std::size_t>(copy)].out; }

 private:
  struct Copy {
    Buffer q, out, k, v, k_scale, v_scale;
  };

  void make_tables(std::uint64_t seed);
  void fill(Copy& copy, std::uint64_t seed);

  AttentionShape shape_;
  std::vector<std::int32_t> q_lens_, kv_lens_;
  std::int64_t tokens_ = 0;
  int page_size_ = 0;
  std::int64_t pool_pages_ = 0;
  std::int32_t columns_ = 0;
  std::vector<std::int32_t> pages_;  // [requests, columns]
  std::vector<float> sinks_, q_scale_, k_scale_, v_scale_;
  std::vector<Copy> copies_;
};

}  // namespace headwise::bench
