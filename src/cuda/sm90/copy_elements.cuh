#pragma once

#include <cstdint>

#include "cuda/paging/key_range.h"
#include "cuda/ptx/shared.cuh"
#include "cuda/step_args.h"
#include "cuda/tile/box_tile.cuh"

namespace headwise::cuda::sm90 {

/// A key's row of K or V into a tile by one warp; offset < 0: zeros.
template <class Config>
__device__ __forceinline__ void copy_row(std::uint32_t to, int key, int row_bytes,
                                         const KvTensor& tensor, int dim, std::int64_t offset) {
  const BoxTile<Config::kKeys> tile{to};
  for (int at = threadIdx.x % 32; at < row_bytes / Config::kElement; at += 32) {
    const int byte = at * Config::kElement;
    const bool there = offset >= 0 && at < dim;
    const char* from = tensor.data + (there ? offset + byte : 0);
    const std::uint32_t place = tile.chunk(key, byte / 16) + byte % 16;
    if constexpr (Config::kElement == 1)
      ptx::store_shared_8(place, there ? *reinterpret_cast<const std::uint8_t*>(from) : 0);
    else
      ptx::store_shared_16(place, there ? *reinterpret_cast<const std::uint16_t*>(from) : 0);
  }
}

/// Brings a tile of K or V that tensor copies cannot read, element by element, with the KV head's
/// rows from `base` on. By one warp.
template <class Config, int kBoxes>
__device__ __forceinline__ void copy_elements(const StepArgs& args, const KeyRange& range,
                                              std::int32_t tile, std::uint32_t to,
                                              const KvTensor& tensor, int dim, std::int64_t base) {
  for (int key = 0; key < Config::kKeys; ++key) {
    const std::int32_t slot = tile + key;
    std::int64_t page = -1;
    std::int64_t token = slot;
    if (slot < range.slot_end) {
      const std::uint32_t entry = args.page_size.divide(slot);
      const std::int32_t inside = slot - static_cast<std::int32_t>(entry * args.page_size.divisor);
      const std::int64_t at = range.table_row + entry;
      const std::int32_t position = args.positions == nullptr ? slot : args.positions[at] + inside;
      if (position >= range.first_seen && position <= range.last_seen)
        page = args.pages == nullptr ? 0 : args.pages[at];
      if (args.pages != nullptr) token = inside;
    }
    copy_row<Config>(to, key, kBoxes * 128, tensor, dim,
                     page < 0 ? -1 : base + page * tensor.page + token * tensor.token);
  }
  __syncwarp();
}

}  // namespace headwise::cuda::sm90
