#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/buffer.h"
#include "bench/tensor_memory.h"
#include "bench/workload.h"
#include "headwise/kv_binding.h"
#include "headwise/plan.h"
#include "headwise/step_batch.h"

namespace headwise::bench {

/// Bytes of one copy of a step's tensors: q, out, K, V and their scales.
std::int64_t bytes_a_copy(const AttentionShape& shape, const Workload& workload, int page_size);
/// K, V and their scales alone.
std::int64_t kv_bytes_a_copy(const AttentionShape& shape, const Workload& workload, int page_size);

/// Which rows of q, [tokens * q_heads, head_dim_qk], are outliers.
OutlierRows outliers_of(const AttentionShape& shape, const Workload& workload);
/// The seed of q in a copy of a step's tensors, themselves of `seed`.
std::uint64_t seed_of_q(std::uint64_t seed, std::uint64_t copy);

/// A step's tensors on the CPU or on a GPU: random numbers (q and keys of variance 1, so that
/// logits have it too, but for outliers), K and V in pages that lie in shuffled order. There are
/// several copies, to be run in rotation, so that no run finds the last one's data in a cache.
/// Tables of requests that share a prefix begin with the same pages. All views point in here.
class StepTensors {
 public:
  /// Same seed, same numbers, wherever they are. `copies` >= 1; `gpu` null: on the CPU, else it
  /// must outlive this. Throws Error(not_possible).
  StepTensors(const AttentionShape& shape, const Workload& workload, int page_size, int copies,
              std::uint64_t seed, Gpu* gpu = nullptr);

  int copies() const { return static_cast<int>(copies_.size()); }
  int page_size() const { return page_size_; }
  Gpu* gpu() const { return gpu_; }  ///< null: on the CPU

  /// The step over the first copy.
  StepBatch step();
  KvView kv(int copy) const;
  /// Arguments to run the step over `copy`; `kv` and `workspace` are the caller's to fill in.
  RunArgs args(int copy);

  /// The block table's row of a request, [columns], on the CPU.
  const std::int32_t* table(std::int64_t request) const;

  /// What K's and V's f8e4m3 codes are multiplied by: [1] or [kv_heads], on the CPU.
  const std::vector<float>& k_scale() const { return k_scale_; }
  const std::vector<float>& v_scale() const { return v_scale_; }

  /// Fills out of `copy` with NaN.
  void poison(int copy);
  const TensorMemory& q(int copy) const { return copies_[static_cast<std::size_t>(copy)].q; }
  const TensorMemory& out(int copy) const { return copies_[static_cast<std::size_t>(copy)].out; }
  /// out of `copy` on the CPU, until the next call.
  const void* fetch_out(int copy);

  /// The numbers of `copy` on the CPU, made there once more: one copy, with K and V of `requests`
  /// alone and without out.
  StepTensors on_cpu(int copy, std::span<const std::int64_t> requests) const;
  StepTensors on_cpu(int copy) const;  ///< with all requests

 private:
  struct Copy {
    TensorMemory q, out, k, v, k_scale, v_scale;
  };

  StepTensors(const StepTensors& other, int copy, std::span<const std::int64_t> requests);
  void make_tables();
  void fill(Copy& copy, std::uint64_t index);
  void fill_q(TensorMemory& q, std::uint64_t index);
  void fill_pages(const std::vector<std::int32_t>& pages, std::uint64_t index);
  void place_on_gpu();

  AttentionShape shape_;
  Workload workload_;
  std::vector<std::int32_t> prefix_group_, prefix_tokens_;  // [requests], or empty
  int page_size_ = 0;
  std::uint64_t seed_ = 0;
  Gpu* gpu_ = nullptr;
  std::int64_t pool_pages_ = 0;
  std::int32_t columns_ = 0;
  std::vector<std::int32_t> pages_;  // [requests, columns]
  std::vector<float> sinks_, q_scale_, k_scale_, v_scale_;
  std::vector<Copy> copies_;
  Buffer fetched_;

  /// The same on the GPU.
  struct Placed {
    std::shared_ptr<void> pages, sinks, q_scale, k_scale, v_scale;
  };
  Placed placed_;
};

}  // namespace headwise::bench
