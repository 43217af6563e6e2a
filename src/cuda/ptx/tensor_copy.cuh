#pragma once

#include <cuda.h>

#include <cstdint>

namespace headwise::cuda::ptx {

// Of compute capability 9.0.

/// Copies a box of a tensor of four dimensions to shared memory, a multiple of 128 bytes; what lies
/// outside of the tensor becomes 0. Its bytes count at `barrier`.
__device__ __forceinline__ void copy_box(std::uint32_t shared, const CUtensorMap* map,
                                         std::uint32_t barrier, int x, int y, int z, int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%3, %4, %5, %6}], [%2];" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}

/// This thread's ordinary accesses to shared memory come before copies that are started behind a
/// barrier.
__device__ __forceinline__ void fence_before_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace headwise::cuda::ptx
