#pragma once

#include <cstdint>

#include "cuda/ptx/launch_overlap.cuh"
#include "cuda/sm90/finish_item.cuh"
#include "cuda/sm90/kernel_row.h"
#include "cuda/sm90/key_producer.cuh"
#include "cuda/sm90/row_tile.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/sm90/tile_config.h"
#include "cuda/sm90/wide_config.h"
#include "cuda/sm90/wide_kernel.cuh"
#include "cuda/step/queries.cuh"

namespace headwise::cuda::sm90 {

/// Rows of an item in warps of eight (row_tile.cuh).
template <class Config>
__device__ __forceinline__ void take_item(const StepArgs& args, const SharedLayout<Config>& shared,
                                          HandedItem& item, RingPlace<Config::kStages>& stage) {
  RowTile<Config> tile(args, item, shared);
  const std::int32_t end = item.view.range.slot_end;
  for (std::int32_t slot = item.view.range.slot_begin; slot < end; slot += Config::kKeys) {
    tile.take(shared, stage, slot);
    stage.advance();
  }
  if constexpr (Config::kTokenScales) tile.leave_unit();
  finish_item(args, tile, item, shared);
}

/// What the warps do that take keys.
template <class Config>
__device__ __forceinline__ void take_items(const StepArgs& args, const SharedLayout<Config>& shared,
                                           int items) {
  ptx::wait_for_launches_before();
  if (args.v_scale != nullptr) ptx::prefetch(args.v_scale);
  const bool first_lane = threadIdx.x % 32 == 0;
  RingPlace<kItemPlaces> place;
  RingPlace<Config::kStages> stage;
  for (int i = 0; i < items; ++i) {
    ptx::mbarrier_wait(shared.item_full(place.index()), place.parity());
    HandedItem& item = shared.item(place.index());
    load_queries<Config, Config::kRows>(args, item.view, shared.queries(), shared.row_scales(), 0);
    ptx::cp_async_wait_all();
    sync_warps<Config>();
    take_item(args, shared, item, stage);
    sync_warps<Config>();
    if (first_lane) ptx::mbarrier_arrive(shared.item_empty(place.index()));
    place.advance();
  }
}

/// The items of a block's share, one after the other.
template <class Config>
__global__ void __launch_bounds__(Config::kBlockThreads, 1)
    attend_shares(const __grid_constant__ TensorMaps maps, const __grid_constant__ StepArgs args) {
  extern __shared__ __align__(1024) char memory[];
  const SharedLayout<Config> shared{memory};
  const int first = args.block_begin[blockIdx.x];
  const int end = args.block_begin[blockIdx.x + 1];
  // A launch is not complete before the ones before it, so one block waits for them in any case.
  if (first == end && blockIdx.x > 0) return;
  if (threadIdx.x == 0) {
    ptx::let_next_launch_begin();
    shared.init_barriers();
  }
  __syncthreads();
  if (threadIdx.x < Config::kThreads)
    take_items(args, shared, end - first);
  else if (threadIdx.x < Config::kThreads + 32)
    KeyProducer<Config, Brings::keys>(maps, args, shared).run(first, end);
  else
    KeyProducer<Config, Brings::values>(maps, args, shared).run(first, end);
}

/// The kernel of a row.
template <class Config>
constexpr auto kernel_of() {
  if constexpr (Config::kQueriesInBoxes)
    return &attend_wide<Config>;
  else
    return &attend_shares<Config>;
}

template <class Config>
cudaError_t launch(const TensorMaps& maps, const StepArgs& args, int blocks, cudaStream_t stream) {
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  const cudaLaunchConfig_t config{.gridDim = dim3(static_cast<unsigned>(blocks)),
                                  .blockDim = dim3(Config::kBlockThreads),
                                  .dynamicSmemBytes = Config::kSharedBytes,
                                  .stream = stream,
                                  .attrs = &overlap,
                                  .numAttrs = 1};
  return cudaLaunchKernelEx(&config, kernel_of<Config>(), maps, args);
}

template <class Config>
cudaError_t prepare(int* blocks_per_multiprocessor) {
  const cudaError_t status = cudaFuncSetAttribute(
      kernel_of<Config>(), cudaFuncAttributeMaxDynamicSharedMemorySize, Config::kSharedBytes);
  if (status != cudaSuccess) return status;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      blocks_per_multiprocessor, kernel_of<Config>(), Config::kBlockThreads, Config::kSharedBytes);
}

template <class Config>
KernelFunctions functions_of() {
  return {&prepare<Config>, &launch<Config>};
}

}  // namespace headwise::cuda::sm90
