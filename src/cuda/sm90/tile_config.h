#pragma once

#include <algorithm>

#include "cuda/tile/kv_format.h"

namespace headwise::cuda::sm90 {

/// The tiles of one kernel row. Head dimensions up to these are zero-filled, rows of K and V to
/// whole 128 bytes.
///
/// A block has two warps that bring keys and values and kKeyWarps * kRowWarps that take them: each
/// of these has kWarpKeys keys of every tile and eight query rows of an item.
template <KvFormat kFormat_, int kDimQk_, int kDimV_, int kRows_>
struct TileConfig {
  static constexpr KvFormat kFormat = kFormat_;
  static constexpr bool k8Bit = is_8_bit(kFormat);
  static constexpr int kDimQk = kDimQk_;
  static constexpr int kDimV = kDimV_;
  static constexpr int kRows = kRows_;  ///< query rows of an item: new tokens times the group
  static constexpr int kElement = k8Bit ? 1 : 2;  ///< bytes
  static constexpr int kQRow = kDimQk * 2;        ///< bytes
  static constexpr bool kQueriesInBoxes = false;  ///< in shared memory (queries.cuh)

  static constexpr int kRowWarps = kRows / 8;
  static constexpr int kKeyWarps = kRows <= 16 ? 4 : 2;
  static constexpr int kWarpKeys = k8Bit || kRows > 16 ? 32 : 16;
  static constexpr int kWarps = kKeyWarps * kRowWarps;
  static constexpr int kThreads = kWarps * 32;  ///< that take keys
  static constexpr int kBlockThreads = kThreads + 64;
  static constexpr int kTakers = kWarps;               ///< warps that take a tile
  static constexpr int kItemReaders = kWarps + 1;      ///< warps that an item has to wait for
  static constexpr int kKeys = kKeyWarps * kWarpKeys;  ///< of a tile

  // Tiles lie in boxes of 128 bytes of each key, as copies bring them (box_tile.cuh).
  static constexpr int kKBoxes = kDimQk * kElement / 128;
  static constexpr int kVBoxes = kDimV * kElement / 128;
  static_assert(kKBoxes * 128 == kDimQk * kElement && kVBoxes * 128 == kDimV * kElement);
  static constexpr int kKBytes = kKeys * kKBoxes * 128;
  static constexpr int kStageBytes = kKeys * (kKBoxes + kVBoxes) * 128;
  /// More than half of the shared memory, so that a multiprocessor holds one block: two of a launch
  /// on one of them would end late.
  static constexpr int kStages = std::clamp(160 * 1024 / kStageBytes, kRows > 16 ? 2 : 3, 12);
  static constexpr int kRingBytes = kStages * kStageBytes;
  static constexpr bool kTokenScales = kFormat == KvFormat::i8;
  static constexpr int kScaleBytes = kTokenScales ? kKeys * 4 : 0;  ///< of a tile of K, or of V

  // A row of results on its way: sums, reference and their sum, and room against bank conflicts.
  static constexpr int kResultRow = kDimV + 8;  ///< floats (results.cuh)
  static constexpr int kResultSets = kRows > 8     ? 1
                                     : kDimV > 128 ? 2
                                                   : 4;  ///< that key warps add up in
  static constexpr int kResultBytes = kResultSets * kRows * kResultRow * 4;
  static constexpr int kStatsBytes = kKeyWarps * kRows * 8;

  static constexpr int kScales = kRingBytes;  ///< where things lie in shared memory
  static constexpr int kQueries = kScales + kStages * 2 * kScaleBytes;
  static constexpr int kResults = kQueries + kRows * kQRow;
  static constexpr int kStats = kResults + kResultBytes;
  static constexpr int kRowScales = kStats + kStatsBytes;
  static constexpr int kViews = kRowScales + kRows * 4;
  static constexpr int kSharedBytes = kViews + 1088;

  // As ItemView asks for them.
  static constexpr bool kInvariant = false;
  static constexpr int kNarrowRows = kRows;
  static constexpr int kNarrowKeys = kKeys;
  static constexpr int kWideKeys = kKeys;
};

}  // namespace headwise::cuda::sm90
