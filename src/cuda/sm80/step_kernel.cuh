#pragma once

#include <cstdint>

#include "cuda/sm80/item_queue.cuh"
#include "cuda/sm80/kernel_row.h"
#include "cuda/sm80/merge_parts.cuh"
#include "cuda/sm80/narrow.cuh"
#include "cuda/sm80/wide.cuh"

namespace headwise::cuda::sm80 {

template <class Config>
__device__ __forceinline__ void attend_item(const StepArgs& args,
                                            const SharedLayout<Config>& shared) {
  if constexpr (!Config::kInvariant)
    if (shared.view().template is_narrow<Config>()) return NarrowTile<Config>::attend(args, shared);
  WideTile<Config>::attend(args, shared);
}

/// The last block to call it makes the counters ready for the next launch. `flag`: in shared
/// memory.
__device__ __forceinline__ void leave_counters_at_0(const StepArgs& args, int splits,
                                                    volatile int* flag) {
  __syncthreads();
  if (threadIdx.x == 0) *flag = ptx::count_up(args.blocks_done) + 1 == gridDim.x;
  __syncthreads();
  if (!*flag) return;
  for (int i = threadIdx.x; i < splits; i += blockDim.x) args.parts_done[i] = 0;
  if (threadIdx.x != 0) return;
  *args.next_item = 0;
  *args.blocks_done = 0;
}

/// The items of a step's schedule, each block taking the next one when it is done with its last,
/// then the rows of split ones.
template <class Config>
__global__ void __launch_bounds__(Config::kThreads, 2)
    attend_step(const __grid_constant__ StepArgs args) {
  extern __shared__ __align__(128) char memory[];
  const SharedLayout<Config> shared{memory};
  if (threadIdx.x == 0) {
    shared.counts() = *args.counts;
    claim_item(args, shared.counts().items, &shared.next_work());
  }
  for (;;) {
    __syncthreads();  // nobody needs the last item's shared memory
    if (threadIdx.x == 0) {
      ptx::cp_async_wait<0>();
      *shared.item_there() = shared.next_work().rows >= 0;
      if (*shared.item_there()) shared.view().template set<Config>(args, shared.next_work());
    }
    __syncthreads();
    if (!*shared.item_there()) break;
    attend_item<Config>(args, shared);
    if (shared.view().item.part_row >= 0) count_part<Config>(args, shared.view());
  }
  merge_splits<Config>(args, shared);
  leave_counters_at_0(args, shared.counts().splits, shared.item_there());
}

template <class Config>
cudaError_t launch(const StepArgs& args, int blocks, cudaStream_t stream) {
  attend_step<Config><<<blocks, Config::kThreads, Config::kSharedBytes, stream>>>(args);
  return cudaGetLastError();
}

template <class Config>
cudaError_t prepare(int* blocks_per_multiprocessor) {
  const cudaError_t status = cudaFuncSetAttribute(
      attend_step<Config>, cudaFuncAttributeMaxDynamicSharedMemorySize, Config::kSharedBytes);
  if (status != cudaSuccess) return status;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      blocks_per_multiprocessor, attend_step<Config>, Config::kThreads, Config::kSharedBytes);
}

template <class Config>
KernelFunctions functions_of() {
  return {&prepare<Config>, &launch<Config>};
}

}  // namespace headwise::cuda::sm80
