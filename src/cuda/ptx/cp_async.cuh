#pragma once

#include <cstdint>

namespace headwise::cuda::ptx {

/// Copies `bytes` <= 16 bytes and zero-fills the rest of 16. Both addresses are multiples of 16;
/// with 0 bytes nothing is read.
__device__ __forceinline__ void cp_async_16(std::uint32_t shared, const void* global, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
               "r"(bytes)
               : "memory");
}

/// The same for 4 bytes.
__device__ __forceinline__ void cp_async_4(std::uint32_t shared, const void* global, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared), "l"(global), "r"(bytes)
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

}  // namespace headwise::cuda::ptx
