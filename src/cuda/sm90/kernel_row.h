#pragma once

#include <cuda_runtime_api.h>

#include <span>

#include "cuda/sm90/tensor_maps.h"
#include "cuda/step_args.h"
#include "cuda/tile/kv_format.h"

namespace headwise::cuda::sm90 {

/// What a compiled row offers the host. Nothing here throws: statuses are CUDA's.
struct KernelFunctions {
  /// Lets a block have its shared memory; says how many of them a multiprocessor holds.
  cudaError_t (*prepare)(int* blocks_per_multiprocessor) = nullptr;
  /// May overlap the end of the launch before it on the stream.
  cudaError_t (*launch)(const TensorMaps& maps, const StepArgs& args, int blocks,
                        cudaStream_t stream) = nullptr;
};

/// Each row has a translation unit of its own, which instantiates this (row.cu.in). A row that the
/// build leaves out has no functions.
template <class Config>
KernelFunctions functions_of();

/// Items of more rows than this are wide: requests of more rows than a kernel's take several.
inline constexpr int kMostNarrowRows = 32;

/// A line of the table of kernels.
struct KernelRow {
  const char* name;  ///< "d128 bf16 rows8"
  KvFormat format;
  bool invariant;  ///< for batch_invariant, and nothing else
  int dim_qk;      ///< head dimensions up to it
  int dim_v;
  int rows;  ///< of an item
  int keys;  ///< of a tile
  int shared_bytes;
  KernelFunctions functions;
};

/// Every row, the smaller tiles of a format first.
std::span<const KernelRow> kernel_rows();

}  // namespace headwise::cuda::sm90
