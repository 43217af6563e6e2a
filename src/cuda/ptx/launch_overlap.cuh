#pragma once

namespace headwise::cuda::ptx {

// Launches that overlap (programmatic dependent launch), of compute capability 9.0.

/// Waits until the launches before this one are complete and sees what they wrote.
__device__ __forceinline__ void wait_for_launches_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

/// The next launch may begin once all blocks have called this or are done.
__device__ __forceinline__ void let_next_launch_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace headwise::cuda::ptx
