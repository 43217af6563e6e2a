#pragma once

#include <algorithm>

#include "cuda/tile/kv_format.h"

namespace headwise::cuda::sm80 {

/// The tiles of one kernel row. Head dimensions up to these are zero-filled.
///
/// Many rows (wide): every warp takes rows of its own and all keys of a tile. Up to kNarrowRows
/// (narrow): every warp takes keys of its own and all rows, as a decode has it.
///
/// kInvariant: a token's bits do not depend on what else is in the step (batch_invariant). All rows
/// are wide then, and keys are cut at multiples of kFixedSplit.
template <KvFormat kFormat_, int kDimQk_, int kDimV_, bool kInvariant_ = false>
struct TileConfig {
  static constexpr bool kInvariant = kInvariant_;
  static constexpr KvFormat kFormat = kFormat_;
  static constexpr bool k8Bit = is_8_bit(kFormat);
  static constexpr int kDimQk = kDimQk_;
  static constexpr int kDimV = kDimV_;
  static constexpr int kWarps = 4;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kElement = k8Bit ? 1 : 2;   ///< bytes
  static constexpr int kKRow = kDimQk * kElement;  ///< bytes
  static constexpr int kVRow = kDimV * kElement;
  static constexpr int kQRow = kDimQk * 2;
  static constexpr bool kQueriesInBoxes = false;  ///< in shared memory (queries.cuh)

  // O takes kRowTiles * 16 * kDimV / 32 registers.
  static constexpr int kRowTiles = kDimV > 128 ? 1 : 2;  ///< m16 tiles a warp
  static constexpr int kWideRows = kWarps * kRowTiles * 16;
  static constexpr int kWideKeys = kDimQk <= 64 && !kInvariant && !k8Bit ? 128
                                   : kDimQk == 192                       ? 32
                                                                         : 64;
  // At 256, longer tiles are worth more than loads further ahead.
  static constexpr int kWideTiles = kDimQk < 256 || kFormat == KvFormat::f8 ? 2 : 1;  ///< places
  static constexpr int kWideSlots = 2 * kWideTiles;                                   ///< K and V
  /// The step of a tile's first product behind which the next copies start, by measurement.
  static constexpr int kFetchStep =
      kWideTiles == 2 && (k8Bit || kDimQk <= 64) ? kDimQk / 16 - 1 : 0;

  static constexpr int kNarrowRows = 16;
  static constexpr int kDimWarps = kDimV > 128 ? 2 : 1;  ///< warps that share O's columns
  static constexpr int kKeyWarps = kWarps / kDimWarps;
  static constexpr int kWarpKeys = k8Bit || kDimQk <= 64 ? 32 : 16;  ///< keys of a warp's tile
  static constexpr int kNarrowKeys = kKeyWarps * kWarpKeys;
  static constexpr int kNarrowSlots = kDimQk == 192 ? 3 : 5;

  static constexpr int slot_bytes(int keys) { return keys * std::max(kKRow, kVRow); }
  static constexpr int key_rows_bytes(int keys, int slots) {
    return 2 * keys * (kFormat == KvFormat::i8 ? 32 : 16) +
           (kFormat == KvFormat::i8 ? slots * keys * 8 : 0);
  }

  static constexpr int kWideRing = kWideSlots * slot_bytes(kWideKeys);

  // Shared memory: q, the ring of K and V tiles, where the keys lie. Results pass through it.
  static constexpr int kWideBytes =
      kWideRows * kQRow + kWideRing + key_rows_bytes(kWideKeys, kWideSlots);
  static constexpr int kNarrowRing = kNarrowSlots * slot_bytes(kNarrowKeys);
  static constexpr int kNarrowBytes =
      kNarrowRows * kQRow + kNarrowRing + key_rows_bytes(kNarrowKeys, kNarrowSlots);
  static constexpr int kTileBytes = std::max(kWideBytes, kNarrowBytes);
  // A row of results on its way: sums, reference and their sum, and room against bank conflicts.
  static constexpr int kResultRow = kDimV + 8;  ///< floats (results.cuh)
  static_assert(kTileBytes >= kWideRows * kResultRow * 4 &&
                kTileBytes >= kKeyWarps * kNarrowRows * kResultRow * 4);
  static constexpr int kStatsBytes = 1024;  ///< row scales of q, the item, what its rows see
  static constexpr int kSharedBytes = kTileBytes + kStatsBytes;
  static_assert(kSharedBytes <= 99 * 1024, "more than a block has on compute capability 8.6");
};

}  // namespace headwise::cuda::sm80
