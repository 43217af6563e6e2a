#pragma once

#include <cstdint>

#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/shared.cuh"
#include "cuda/step_args.h"
#include "cuda/tile/shared_tile.cuh"

namespace headwise::cuda {

/// The keys that an item reads. Slots seen by no row of the request, and dead ones, are zeros.
struct KeyRange {
  std::int64_t k_base = 0;     ///< bytes from K's first one to the KV head's
  std::int64_t v_base = 0;     ///< the same of V
  std::int64_t table_row = 0;  ///< paged: elements to the request's row of the block table
  std::int32_t slot_begin = 0;
  std::int32_t slot_end = 0;
  std::int32_t first_seen = 0;  ///< position
  std::int32_t last_seen = 0;
  std::int32_t kv_head = 0;
  std::int32_t reserved = 0;
  std::int64_t kv_start = 0;  ///< packed
};

/// Streams tiles of kKeys keys through a ring in shared memory: K of tile 0, V of tile 0, K of tile
/// 1 and so on, kSlots - 1 of them under way. All kThreads threads of the block take part in
/// everything. The block table is looked up by one thread a key, a tile ahead of its copies.
template <int kThreads, int kKeys, int kKRow, int kVRow, int kElement, int kSlots,
          bool kTokenScales>
class KeyPipeline {
 public:
  static constexpr int kSlotBytes = kKeys * (kKRow > kVRow ? kKRow : kVRow);
  static_assert(kKeys <= kThreads && kSlots >= 2 && kSlots <= 5);

  /// `ring`: kSlots * kSlotBytes bytes; `rows`: behind it, as TileConfig counts them; `range` in
  /// shared memory, too.
  __device__ __forceinline__ KeyPipeline(const StepArgs& args, const KeyRange& range,
                                         std::uint32_t ring, std::uint32_t rows)
      : args_(args),
        range_(range),
        ring_(ring),
        rows_(rows),
        slot_begin_(range.slot_begin),
        tiles_((range.slot_end - range.slot_begin + kKeys - 1) / kKeys) {
    note(0, look_up(0));
    page_ = look_up(1);
    note(1, page_);
    __syncthreads();
#pragma unroll
    for (int load = 0; load < kLag; ++load) issue(load, load);
    if (kLag >= 3) {
      __syncthreads();
      page_ = look_up(2);
      note(2, page_);
    }
  }

  __device__ __forceinline__ int tiles() const { return tiles_; }
  __device__ __forceinline__ std::int32_t slot_of(int tile) const {
    return slot_begin_ + tile * kKeys;
  }

  /// K or V of a tile, which stays until the next call. To be called for the tiles in order, K
  /// before V. Synchronises the block.
  __device__ __forceinline__ std::uint32_t acquire_keys(int tile) { return acquire<0>(tile); }
  __device__ __forceinline__ std::uint32_t acquire_values(int tile) { return acquire<1>(tile); }

  /// i8: scales of the keys acquired last, [K and V, kKeys] floats in shared memory.
  __device__ __forceinline__ std::uint32_t scales() const { return scales_of(before(slot_)); }

  /// Waits until nothing is under way any more and no thread reads the ring.
  __device__ __forceinline__ void drain() {
    ptx::cp_async_wait<0>();
    __syncthreads();
  }

 private:
  static constexpr int kLag = kSlots - 1;     // loads under way
  static constexpr std::int64_t kDead = -16;  // an aligned address, never read

  __device__ __forceinline__ static int before(int slot) {
    return slot == 0 ? kSlots - 1 : slot - 1;
  }

  /// Load number 2 * tile + kHalf. Behind it goes load number + kLag; when that is of K, the rows
  /// of the tile after its own are looked up, and written down one call later.
  template <int kHalf>
  __device__ __forceinline__ std::uint32_t acquire(int tile) {
    constexpr bool kLookUp = (kHalf + kLag) % 2 == 0;
    if constexpr (!kLookUp) note((2 * tile + kHalf - 1 + kLag) / 2 + 1, page_);
    ptx::cp_async_wait<kLag - 1>();
    __syncthreads();
    const int load = 2 * tile + kHalf + kLag;
    issue(load, before(slot_));
    if constexpr (kLookUp) page_ = look_up(load / 2 + 1);
    const std::uint32_t slot = ring_ + slot_ * kSlotBytes;
    slot_ = slot_ + 1 == kSlots ? 0 : slot_ + 1;
    return slot;
  }

  /// The page of this thread's key of a tile; negative: dead.
  __device__ __forceinline__ std::int32_t look_up(int tile) const {
    const std::int32_t slot = slot_of(tile) + static_cast<int>(threadIdx.x);
    if (threadIdx.x >= kKeys || slot >= range_.slot_end) return -1;
    const std::uint32_t entry = args_.page_size.divide(slot);
    std::int32_t position = slot;
    if (args_.positions != nullptr)
      position = args_.positions[range_.table_row + entry] + inside_page(slot, entry);
    if (position < range_.first_seen || position > range_.last_seen) return -1;
    return args_.pages == nullptr ? 0 : args_.pages[range_.table_row + entry];
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
    ptx::store_shared_64(at, offset(range_.k_base, args_.k.page, args_.k.token));
    ptx::store_shared_64(at + kNext, offset(range_.v_base, args_.v.page, args_.v.token));
    if constexpr (kTokenScales) {
      const auto scale_offset = [&](const KvTensor& tensor) {
        const std::int64_t base =
            range_.kv_head * tensor.scale_head + range_.kv_start * tensor.scale_token;
        return offset(base, tensor.scale_page, tensor.scale_token);
      };
      ptx::store_shared_64(at + 2 * kNext, scale_offset(args_.k));
      ptx::store_shared_64(at + 3 * kNext, scale_offset(args_.v));
    }
  }

  /// [kKeys] of a tile: where K's and V's rows lie, in bytes, and their scales, in elements.
  template <int kWhat>
  __device__ __forceinline__ std::uint32_t rows_of(int tile) const {
    return rows_ + (kWhat * 2 + (tile & 1)) * kKeys * 8;
  }
  __device__ __forceinline__ std::uint32_t scales_of(int slot) const {
    return rows_ + 8 * kKeys * (kTokenScales ? 8 : 4) + slot * kKeys * 8;
  }

  /// Starts a load into `slot`, or an empty group behind the last one.
  __device__ __forceinline__ void issue(int load, int slot) {
    const int tile = load / 2;
    if (tile < tiles_) {
      const std::uint32_t to = ring_ + slot * kSlotBytes;
      if (load % 2 == 0) {
        copy<kKRow>(to, args_.k.data, rows_of<0>(tile), args_.dim_qk * kElement);
        if constexpr (kTokenScales) {
          copy_scales(scales_of(slot), args_.k.scale, rows_of<2>(tile));
          copy_scales(scales_of(slot) + kKeys * 4, args_.v.scale, rows_of<3>(tile));
        }
      } else {
        copy<kVRow>(to, args_.v.data, rows_of<1>(tile), args_.dim_v * kElement);
      }
    }
    ptx::cp_async_commit();
  }

  /// Neighbouring threads copy neighbouring chunks of a row; the rows of a thread lie multiples of
  /// eight apart, so that its chunks keep their places.
  template <int kRow>
  __device__ __forceinline__ void copy(std::uint32_t to, const char* data, std::uint32_t rows,
                                       int row_bytes) {
    using Tile = SharedTile<kRow>;
    constexpr int kLanes = Tile::kChunks % 16 == 0 ? 16 : Tile::kChunks % 8 == 0 ? 8 : 4;
    constexpr int kRows = kThreads / kLanes;
    static_assert(kKeys % kRows == 0 && kRows % 8 == 0);
    if (__builtin_expect(!args_.kv_chunks, 0))
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
      const int beyond = at < row_bytes ? 0 : -1;
#pragma unroll
      for (int i = 0; i < kKeys / kRows; ++i)
        ptx::cp_async_16(Tile::advance(first, j * kLanes) + i * kRows * kRow, data + at + offset[i],
                         static_cast<int>(offset[i] >> 32) | beyond);
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

  const StepArgs& args_;
  const KeyRange& range_;
  const std::uint32_t ring_;
  const std::uint32_t rows_;
  const std::int32_t slot_begin_;
  const int tiles_;
  int slot_ = 0;            // that acquire() gives next
  std::int32_t page_ = -1;  // of this thread's key, between look_up() and note()
};

}  // namespace headwise::cuda
