#pragma once

#include <algorithm>

#include "cuda/tile/kv_format.h"

namespace headwise::cuda::sm90 {

/// The tiles of one kernel row for many query rows, whose products are wgmma's. Two warpgroups take
/// keys: of 64 rows each one every other tile, of 128 rows each one its half of the rows.
template <KvFormat kFormat_, int kDimQk_, int kDimV_, int kRows_>
struct WideConfig {
  static constexpr KvFormat kFormat = kFormat_;
  static constexpr bool k8Bit = false;
  static_assert(!is_8_bit(kFormat));
  static constexpr int kDimQk = kDimQk_;
  static constexpr int kDimV = kDimV_;
  static constexpr int kRows = kRows_;
  static constexpr int kElement = 2;                ///< bytes
  static constexpr int kQRow = kDimQk * 2;          ///< bytes
  static constexpr int kGroupRows = 64;             ///< of a warpgroup
  static constexpr bool kSharesRows = kRows == 64;  ///< the warpgroups have the same rows
  static constexpr int kKeys = 64;                  ///< of a tile
  static constexpr bool kQueriesInBoxes = true;

  static constexpr int kWarps = 8;
  static constexpr int kThreads = kWarps * 32;          ///< that take keys
  static constexpr int kBlockThreads = kThreads + 128;  ///< the producer has a warpgroup
  static constexpr int kRegisters = 224;
  static constexpr int kProducerRegisters = 56;
  static constexpr int kTakers = kSharesRows ? 4 : kWarps;  ///< warps that take a tile

  static constexpr int kKBoxes = kDimQk / 64;
  static constexpr int kVBoxes = kDimV / 64;
  static constexpr int kKBytes = kKeys * kKBoxes * 128;
  static constexpr int kStageBytes = kKeys * (kKBoxes + kVBoxes) * 128;
  // Sums of the second warpgroup on their way to the first: a row's dimensions, its statistics.
  static constexpr int kResultRow = kDimV + 8;  ///< floats
  static constexpr int kResultBytes = kSharesRows ? kRows * kResultRow * 4 : 0;
  static constexpr int kMostBytes = 227 * 1024 - kRows * kQRow - kResultBytes - 1024;
  static constexpr int kStages = std::min(kMostBytes / kStageBytes, 12);
  static_assert(kStages >= 2);

  static constexpr int kQueries = kStages * kStageBytes;  ///< where things lie in shared memory
  static constexpr int kResults = kQueries + kRows * kQRow;
  static constexpr int kViews = kResults + kResultBytes;
  static constexpr int kSharedBytes = kViews + 896;

  // As ItemView asks for them.
  static constexpr bool kInvariant = false;
  static constexpr int kNarrowRows = kRows;
  static constexpr int kNarrowKeys = kKeys;
  static constexpr int kWideKeys = kKeys;
};

}  // namespace headwise::cuda::sm90
