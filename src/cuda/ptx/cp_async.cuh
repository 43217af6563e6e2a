#pragma once

#include <cstdint>

namespace headwise::cuda::ptx {

// Both addresses are multiples of the size. With a negative `live` zeros are written and nothing is
// read.

__device__ __forceinline__ void cp_async_16(std::uint32_t shared, const void* global, int live,
                                            bool beyond = false) {
  asm volatile(
      "{.reg .pred dead;\n setp.ne.b32 dead, %3, 0;\n setp.lt.or.s32 dead, %2, 0, dead;\n"
      " cp.async.cg.shared.global.L2::128B [%0], [%1], 16, dead;}" ::"r"(shared),
      "l"(global), "r"(live), "r"(static_cast<int>(beyond))
      : "memory");
}

__device__ __forceinline__ void cp_async_4(std::uint32_t shared, const void* global, int live) {
  asm volatile(
      "{.reg .pred dead;\n setp.lt.s32 dead, %2, 0;\n"
      " cp.async.ca.shared.global [%0], [%1], 4, dead;}" ::"r"(shared),
      "l"(global), "r"(live)
      : "memory");
}

__device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most `kGroups` of this thread's groups are under way.
template <int kGroups>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}

/// Waits for all of this thread's copies, in groups or not.
__device__ __forceinline__ void cp_async_wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/// Arrives at a barrier (mbarrier.cuh) that counts this thread, once all copies that it has started
/// are complete.
__device__ __forceinline__ void cp_async_arrive(std::uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

}  // namespace headwise::cuda::ptx
