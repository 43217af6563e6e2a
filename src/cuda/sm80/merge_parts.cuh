#pragma once

#include <cstdint>

#include "cuda/ptx/math.cuh"
#include "cuda/sm80/results.cuh"

namespace headwise::cuda::sm80 {

/// Where the parts of a split's rows lie, those of a shared prefix first.
struct Parts {
  Split split;

  __device__ int count() const { return split.prefix_parts + split.parts; }
  __device__ std::int64_t row_of(int part, int row) const {
    const int own = part - split.prefix_parts;
    return row + (own < 0 ? split.prefix_row + static_cast<std::int64_t>(part) * split.prefix_rows
                          : split.part_row + static_cast<std::int64_t>(own) * split.rows);
  }
  __device__ float2 stats(const StepArgs& args, int part, int row) const {
    return __ldcg(args.part_stats + row_of(part, row));
  }
  __device__ const float* sums(const StepArgs& args, int part, int row) const {
    return args.part_sums + row_of(part, row) * args.dim_v;
  }
};

/// Many reads under way at a time: each takes a trip to L2.
__device__ __forceinline__ void add_weighted(float4& total, const float* sums, std::int64_t to_next,
                                             const float* weights, int parts) {
#pragma unroll 32
  for (int part = 0; part < parts; ++part) {
    const float4 four = __ldcg(reinterpret_cast<const float4*>(sums + part * to_next));
    const float weight = weights[part];
    total.x += weight * four.x;
    total.y += weight * four.y;
    total.z += weight * four.z;
    total.w += weight * four.w;
  }
}

/// Makes of each row's parts their weights and of the row its target: a warp a row. `targets`:
/// [rows], `weights`: [rows, parts].
template <int kThreads>
__device__ void weigh_parts(const StepArgs& args, const ItemView& view, const Parts& parts,
                            char** targets, float* weights) {
  const int lane = threadIdx.x % 32;
  const int count = parts.count();
  for (int row = threadIdx.x / 32; row < view.item.rows; row += kThreads / 32) {
    float* own = weights + row * count;
    float top = -INFINITY;
    for (int part = lane; part < count; part += 32)
      top = fmaxf(top, parts.stats(args, part, row).x);
#pragma unroll
    for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(~0U, top, step));
    float sum = 0.0F;
    for (int part = lane; part < count; part += 32) {
      const float2 stats = parts.stats(args, part, row);
      const float weight =
          stats.x == -INFINITY && stats.y == 0.0F ? 0.0F : ptx::exp2(stats.x - top);
      own[part] = weight;
      sum += weight * stats.y;
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0U, sum, step);
    const RowTarget target = finish_row(args, view, row, top, sum, lane == 0);
    __syncwarp();
    for (int part = lane; part < count; part += 32) own[part] *= target.factor;
    if (lane == 0) targets[row] = target.to;
  }
}

/// Merges the parts of a split's rows, in their order. `scratch` is shared memory of rows pointers
/// and rows * parts floats.
template <int kThreads>
__device__ void merge_parts(const StepArgs& args, const ItemView& view, const Parts& parts,
                            float* scratch) {
  auto* targets = reinterpret_cast<char**>(scratch);
  const int rows = view.item.rows;
  float* all_weights = scratch + 2 * rows;
  weigh_parts<kThreads>(args, view, parts, targets, all_weights);
  __syncthreads();
  const int columns = args.dim_v % 4 == 0 ? 4 : 1;  // at a time
  const int groups = args.dim_v / columns;
  const int of_prefix = parts.split.prefix_parts;
  for (int at = threadIdx.x; at < rows * groups; at += kThreads) {
    const int row = at / groups;
    const int dim = at % groups * columns;
    const float* weights = all_weights + row * parts.count();
    if (columns == 4) {
      float4 total = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
      if (of_prefix > 0)
        add_weighted(total, parts.sums(args, 0, row) + dim,
                     static_cast<std::int64_t>(parts.split.prefix_rows) * args.dim_v, weights,
                     of_prefix);
      add_weighted(total, parts.sums(args, of_prefix, row) + dim,
                   static_cast<std::int64_t>(parts.split.rows) * args.dim_v, weights + of_prefix,
                   parts.split.parts);
      store_pair(args, false, targets[row], dim, total.x, total.y);
      store_pair(args, false, targets[row], dim + 2, total.z, total.w);
    } else {
      float total = 0.0F;
      for (int part = 0; part < parts.count(); ++part)
        total += weights[part] * __ldcg(parts.sums(args, part, row) + dim);
      store_one(targets[row], args.out_type, dim, total);
    }
  }
}

/// The same part after part, as a block does it that has several: a token's bits do not depend on
/// who computed its parts.
template <int kThreads>
__device__ void merge_in_order(const StepArgs& args, const ItemView& view, const Parts& parts) {
  for (int at = threadIdx.x; at < view.item.rows * args.dim_v; at += kThreads) {
    const int row = at / args.dim_v;
    const int dim = at % args.dim_v;
    float2 stats = make_float2(-INFINITY, 0.0F);
    float total = 0.0F;
    for (int part = 0; part < parts.count(); ++part) {
      const MergeWeights weights = merge_stats(stats, parts.stats(args, part, row));
      total = weights.merged(total, __ldcg(parts.sums(args, part, row) + dim));
    }
    const RowTarget target = finish_row(args, view, row, stats.x, stats.y, dim == 0);
    store_one(target.to, args.out_type, dim, fmaf(target.factor, total, 0.0F));
  }
}

/// Counts the results of an item, which is a part, for the splits that wait for them, and merges
/// those whose last ones they are. `scratch` is the item's shared memory, all of it free.
template <class Config>
__device__ void merge_finished_splits(const StepArgs& args, ItemView& view, float* scratch) {
  constexpr int kThreads = Config::kThreads;
  static_assert(Config::kWideRows <= kThreads);  // splits that wait for an item
  auto* finished = reinterpret_cast<volatile int*>(scratch);
  const bool shared = view.shares_prefix();
  const int first = view.item.split;
  const int count = shared ? view.item.shared_by : 1;
  __syncthreads();
  if (threadIdx.x < count) {
    std::uint32_t* counter = args.parts_done + first + threadIdx.x;
    const auto items = static_cast<std::uint32_t>(args.splits[first + threadIdx.x].items);
    const bool last = ptx::count_up(counter) + 1 == items;
    if (last) *counter = 0;
    finished[threadIdx.x] = last ? 1 : 0;
  }
  __syncthreads();
  for (int i = 0; i < count; ++i) {
    if (finished[i] == 0) continue;
    const Parts parts{args.splits[first + i]};
    __syncthreads();  // nobody needs the last split's view and scratch
    if (threadIdx.x == 0) {
      if (shared) view.template set<Config>(args, args.items[parts.split.item]);
      view.item.part_row = -1;
    }
    __syncthreads();
    if (args.batch_invariant)
      merge_in_order<kThreads>(args, view, parts);
    else
      merge_parts<kThreads>(args, view, parts, scratch + kThreads);
  }
}

}  // namespace headwise::cuda::sm80
