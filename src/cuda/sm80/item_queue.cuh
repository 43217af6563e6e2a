#pragma once

#include <cstdint>

#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/shared.cuh"
#include "cuda/step_args.h"

namespace headwise::cuda::sm80 {

/// Claims the next of a schedule's `items` and starts copying it to shared memory, where `rows` < 0
/// says that there is none. Called by one thread, while its block still writes the last item's
/// results.
__device__ __forceinline__ void claim_item(const StepArgs& args, int items, WorkItem* shared) {
  const auto index = static_cast<std::int32_t>(atomicAdd(args.next_item, 1U));
  if (index >= items) {
    shared->rows = -1;
    return;
  }
  const auto* from = reinterpret_cast<const char*>(args.items + index);
  const std::uint32_t to = ptx::shared_address(shared);
#pragma unroll
  for (int i = 0; i < 4; ++i) ptx::cp_async_16(to + i * 16, from + i * 16, 0);
  ptx::cp_async_commit();
}

}  // namespace headwise::cuda::sm80
