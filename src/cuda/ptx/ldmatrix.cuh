#pragma once

#include <cstdint>

namespace headwise::cuda::ptx {

// Four 8x8 matrices of 16-bit numbers; lane 8i + r gives the address of row r of matrix i. Lane l
// gets, of each, columns 2t and 2t + 1 of row g; transposed: rows 2t and 2t + 1 of column g.

__device__ __forceinline__ void ldmatrix(std::uint32_t (&m)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ void ldmatrix_transposed(std::uint32_t (&m)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}

/// Transposes an 8x8 matrix of 16-bit numbers that a warp holds as ldmatrix gives it.
__device__ __forceinline__ std::uint32_t movmatrix(std::uint32_t m) {
  std::uint32_t transposed;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(m));
  return transposed;
}

}  // namespace headwise::cuda::ptx
