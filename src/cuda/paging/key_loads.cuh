#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/paging/key_range.h"
#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/shared.cuh"
#include "cuda/step_args.h"
#include "cuda/tile/shared_tile.cuh"

namespace headwise::cuda {

/// How the tiles of kKeys keys of an item come into shared memory: a thread a key looks the block
/// table up and writes down where the key lies, and all threads copy by what is written there. All
/// kThreads threads of the block take part in everything.
template <int kThreads, int kKeys, int kKRow, int kVRow, int kElement, bool kTokenScales>
class KeyLoads {
 public:
  static constexpr int kSlotBytes = kKeys * (kKRow > kVRow ? kKRow : kVRow);
  static_assert(kKeys <= kThreads);

  __device__ __forceinline__ int tiles() const { return tiles_; }
  __device__ __forceinline__ std::int32_t slot_of(int tile) const {
    return slot_begin_ + tile * kKeys;
  }

  /// Waits until nothing is under way any more and no thread reads the ring.
  __device__ __forceinline__ void drain() {
    ptx::cp_async_wait_all();
    __syncthreads();
  }

 protected:
  static constexpr std::int64_t kDead = -16;  // an aligned address, never read

  /// `range`: a KeyRange in shared memory; `ring`: slots of kSlotBytes bytes there; `rows`: behind
  /// it, as TileConfig counts them.
  __device__ __forceinline__ KeyLoads(const StepArgs& args, std::uint32_t range, std::uint32_t ring,
                                      std::uint32_t rows)
      : args_(args),
        range_(range),
        ring_(ring),
        rows_(rows),
        slot_begin_(range_32(offsetof(KeyRange, slot_begin))),
        tiles_((range_32(offsetof(KeyRange, slot_end)) - slot_begin_ + kKeys - 1) / kKeys) {}

  /// The page of this thread's key of a tile; negative: dead.
  __device__ __forceinline__ std::int32_t look_up(int tile) const {
    const std::int32_t slot = slot_of(tile) + static_cast<int>(threadIdx.x);
    if (threadIdx.x >= kKeys || slot >= range_32(offsetof(KeyRange, slot_end))) return -1;
    const std::uint32_t entry = args_.page_size.divide(slot);
    const std::int64_t at = range_64(offsetof(KeyRange, table_row)) + entry;
    std::int32_t position = slot;
    if (args_.positions != nullptr) position = args_.positions[at] + inside_page(slot, entry);
    if (position < range_32(offsetof(KeyRange, first_seen)) ||
        position > range_32(offsetof(KeyRange, last_seen)))
      return -1;
    return args_.pages == nullptr ? 0 : args_.pages[at];
  }

  __device__ __forceinline__ std::int32_t inside_page(std::int32_t slot,
                                                      std::uint32_t entry) const {
    return slot - static_cast<std::int32_t>(entry * args_.page_size.divisor);
  }

  /// Writes down where this thread's key of a tile lies.
  __device__ __forceinline__ void note(int tile, std::int32_t page) {
    const int key = threadIdx.x;
    if (key >= kKeys) return;
    const std::int32_t slot = slot_of(tile) + key;
    const std::int32_t token =
        args_.pages == nullptr ? slot : inside_page(slot, args_.page_size.divide(slot));
    const auto offset = [&](std::int64_t base, std::int64_t page_stride,
                            std::int64_t token_stride) {
      return page < 0 ? kDead : base + page * page_stride + token * token_stride;
    };
    const std::uint32_t at = rows_of<0>(tile) + key * 8;
    constexpr int kNext = 2 * kKeys * 8;  // to the next kind of row
    ptx::store_shared_64(at,
                         offset(range_64(offsetof(KeyRange, k_base)), args_.k.page, args_.k.token));
    ptx::store_shared_64(at + kNext,
                         offset(range_64(offsetof(KeyRange, v_base)), args_.v.page, args_.v.token));
    if constexpr (kTokenScales) {
      const auto scale_offset = [&](const KvTensor& tensor) {
        const std::int64_t base = range_32(offsetof(KeyRange, kv_head)) * tensor.scale_head +
                                  range_64(offsetof(KeyRange, kv_start)) * tensor.scale_token;
        return offset(base, tensor.scale_page, tensor.scale_token);
      };
      ptx::store_shared_64(at + 2 * kNext, scale_offset(args_.k));
      ptx::store_shared_64(at + 3 * kNext, scale_offset(args_.v));
    }
  }

  // By address: from a reference, the compiler makes the address anew each time.
  __device__ __forceinline__ std::int32_t range_32(int offset) const {
    return static_cast<std::int32_t>(ptx::load_shared_32(range_ + offset));
  }
  __device__ __forceinline__ std::int64_t range_64(int offset) const {
    return ptx::load_shared_64(range_ + offset);
  }

  /// [kKeys] of a tile: where K's and V's rows lie, in bytes, and their scales, in elements.
  template <int kWhat>
  __device__ __forceinline__ std::uint32_t rows_of(int tile) const {
    return rows_ + (kWhat * 2 + (tile & 1)) * kKeys * 8;
  }
  __device__ __forceinline__ std::uint32_t scales_of(int slot) const {
    return rows_ + 8 * kKeys * (kTokenScales ? 8 : 4) + slot * kKeys * 8;
  }

  /// K of a tile and its scales into `slot`. kChunks: rows are known to be of 16-byte chunks.
  template <bool kChunks = false>
  __device__ __forceinline__ void load_keys(int tile, int slot) {
    copy<kKRow, kChunks>(ring_ + slot * kSlotBytes, args_.k.data, rows_of<0>(tile),
                         args_.dim_qk * kElement);
    if constexpr (kTokenScales) {
      copy_scales(scales_of(slot), args_.k.scale, rows_of<2>(tile));
      copy_scales(scales_of(slot) + kKeys * 4, args_.v.scale, rows_of<3>(tile));
    }
  }
  template <bool kChunks = false>
  __device__ __forceinline__ void load_values(int tile, int slot) {
    copy<kVRow, kChunks>(ring_ + slot * kSlotBytes, args_.v.data, rows_of<1>(tile),
                         args_.dim_v * kElement);
  }

  const StepArgs& args_;
  const std::uint32_t range_;
  const std::uint32_t ring_;
  const std::uint32_t rows_;
  const std::int32_t slot_begin_;
  const int tiles_;
  std::int32_t page_ = -1;  // of this thread's key, between look_up() and note()

 private:
  /// Neighbouring threads copy neighbouring chunks of a row; the rows of a thread lie multiples of
  /// eight apart, so that its chunks keep their places.
  template <int kRow, bool kChunks>
  __device__ __forceinline__ void copy(std::uint32_t to, const char* data, std::uint32_t rows,
                                       int row_bytes) {
    using Tile = SharedTile<kRow>;
    constexpr int kLanes = Tile::kChunks % 16 == 0 ? 16 : Tile::kChunks % 8 == 0 ? 8 : 4;
    constexpr int kRows = kThreads / kLanes;
    static_assert(kKeys % kRows == 0 && kRows % 8 == 0);
    if (!kChunks && __builtin_expect(!args_.kv_chunks, 0))
      return copy_elements<kRow>(Tile{to}, data, rows, row_bytes);
    const int thread = opaque(threadIdx.x);
    const int chunk = thread % kLanes;
    const std::uint32_t first = Tile{to}.chunk(thread / kLanes, chunk);
    std::int64_t offset[kKeys / kRows];
#pragma unroll
    for (int i = 0; i < kKeys / kRows; ++i)
      offset[i] = ptx::load_shared_64(rows + (thread / kLanes + i * kRows) * 8);
#pragma unroll
    for (int j = 0; j < Tile::kChunks / kLanes; ++j) {
      const int at = (chunk + j * kLanes) * 16;
      const bool beyond = at >= row_bytes;
#pragma unroll
      for (int i = 0; i < kKeys / kRows; ++i)
        ptx::cp_async_16(Tile::advance(first, j * kLanes) + i * kRows * kRow, data + at + offset[i],
                         static_cast<int>(offset[i] >> 32), beyond);
    }
  }

  /// For rows that 16-byte copies cannot read.
  template <int kRow>
  __device__ void copy_elements(SharedTile<kRow> tile, const char* data, std::uint32_t rows,
                                int row_bytes) {
#pragma unroll 1
    for (int at = threadIdx.x; at < kKeys * kRow / kElement; at += kThreads) {
      const int row = at / (kRow / kElement);
      const int byte = at % (kRow / kElement) * kElement;
      const std::int64_t offset = ptx::load_shared_64(rows + row * 8);
      const bool there = offset >= 0 && byte < row_bytes;
      const char* from = data + (there ? offset + byte : 0);
      const std::uint32_t to = tile.chunk(row, byte / 16) + byte % 16;
      if constexpr (kElement == 1)
        ptx::store_shared_8(to, there ? *reinterpret_cast<const std::uint8_t*>(from) : 0);
      else
        ptx::store_shared_16(to, there ? *reinterpret_cast<const std::uint16_t*>(from) : 0);
    }
  }

  __device__ __forceinline__ void copy_scales(std::uint32_t to, const float* data,
                                              std::uint32_t rows) {
    if (threadIdx.x >= kKeys) return;
    const std::int64_t offset = ptx::load_shared_64(rows + threadIdx.x * 8);
    ptx::cp_async_4(to + threadIdx.x * 4, data + offset, static_cast<int>(offset >> 32));
  }
};

}  // namespace headwise::cuda
