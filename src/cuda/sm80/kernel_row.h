#pragma once

#include <cuda_runtime_api.h>

#include <span>

#include "cuda/sm80/tile_config.h"
#include "cuda/step_args.h"

namespace headwise::cuda::sm80 {

/// What a compiled row offers the host. Nothing here throws: statuses are CUDA's.
struct KernelFunctions {
  /// Lets a block have its shared memory; says how many of them a multiprocessor holds.
  cudaError_t (*prepare)(int* blocks_per_multiprocessor) = nullptr;
  cudaError_t (*launch)(const StepArgs& args, int blocks, cudaStream_t stream) = nullptr;
};

/// Each row has a translation unit of its own, which instantiates this (row.cu.in). A row that the
/// build leaves out has no functions.
template <class Config>
KernelFunctions functions_of();

/// A line of the table of kernels.
struct KernelRow {
  const char* name;  ///< "d128 bf16"
  KvFormat format;
  int dim_qk;  ///< head dimensions up to it
  int dim_v;
  int wide_rows;
  int wide_keys;
  int narrow_rows;
  int narrow_keys;
  int shared_bytes;
  KernelFunctions functions;
  KernelFunctions invariant;  ///< batch_invariant; none of int8 KV

  const KernelFunctions& functions_for(bool batch_invariant) const {
    return batch_invariant ? invariant : functions;
  }
};

/// Every row, the smaller tiles of a format first.
std::span<const KernelRow> kernel_rows();

}  // namespace headwise::cuda::sm80
