#pragma once

#include <algorithm>

#include "cuda/tile/kv_format.h"

namespace headwise::cuda::sm90 {

/// The tiles of one kernel row for many query rows, whose products are wgmma's. A warpgroup takes
/// 64 rows: of up to 64 rows two groups take every other tile each, of more each has rows of its
/// own. kInvariant: a token's bits do not depend on what else is in the step (batch_invariant). One
/// such row takes all steps of its head dimensions.
template <KvFormat kFormat_, int kDimQk_, int kDimV_, int kRows_, bool kInvariant_ = false>
struct WideConfig {
  static constexpr bool kInvariant = kInvariant_;
  static constexpr KvFormat kFormat = kFormat_;
  static constexpr bool k8Bit = false;
  static constexpr bool kTokenScales = false;
  static_assert(!is_8_bit(kFormat));
  static constexpr int kDimQk = kDimQk_;
  static constexpr int kDimV = kDimV_;
  static constexpr int kRows = kRows_;
  static_assert(!kInvariant || kRows == 128);
  static constexpr int kElement = 2;        ///< bytes
  static constexpr int kQRow = kDimQk * 2;  ///< bytes
  static constexpr bool kQueriesInBoxes = true;

  static constexpr int kGroupRows = 64;             ///< of a warpgroup
  static constexpr bool kSharesRows = kRows == 64;  ///< the warpgroups have the same rows
  static constexpr int kGroups = kSharesRows ? 2 : kRows / kGroupRows;
  static constexpr int kWarps = 4 * kGroups;
  static constexpr int kThreads = kWarps * 32;  ///< that take keys
  static constexpr int kLoaders = 32;           ///< that bring queries
  static constexpr int kBlockThreads =
      kThreads + 128;                              ///< warps for keys, values, items, and theirs
  static constexpr int kItemReaders = kWarps + 2;  ///< warps that an item has to wait for
  static constexpr int kRegisters = kGroups == 3 ? 152 : 216;
  static constexpr int kProducerRegisters = kGroups == 3 ? 56 : 72;
  static constexpr int kTakers = kWarps;  ///< warps that take a tile or pass it

  /// Of a tile. Three groups hide what a tile costs beside its products, two need larger ones.
  static constexpr int kKeys = kRows == 128 && kDimQk <= 128 ? 128 : 64;
  static constexpr bool kTakesTurns = kKeys == 128;          ///< turns.cuh
  static constexpr int kQueryTiles = kDimQk <= 128 ? 2 : 1;  ///< that memory holds
  /// The next item begins beside the last values of the one before.
  static constexpr bool kGoesOn = kQueryTiles > 1 && kGroups == 3;

  static constexpr int kKBoxes = kDimQk / 64;
  static constexpr int kVBoxes = kDimV / 64;
  static constexpr int kKBytes = kKeys * kKBoxes * 128;
  static constexpr int kStageBytes = kKeys * (kKBoxes + kVBoxes) * 128;
  static constexpr int kQueryBytes = kRows * kQRow;  ///< a tile of queries
  // Sums of the second warpgroup on their way to the first: a row's dimensions, its statistics.
  static constexpr int kResultRow = kDimV + 8;  ///< floats
  static constexpr int kSumBytes = kSharesRows ? kRows * kResultRow * 4 : 0;
  static constexpr int kViewBytes = 1152;
  static constexpr int kMostBytes = 227 * 1024 - kQueryTiles * kQueryBytes - kSumBytes - kViewBytes;
  static constexpr int kStages = std::min(kMostBytes / kStageBytes, 12);
  static_assert(kStages >= 2);

  /// Of each warp so many rows of results are in shared memory at once, on their way out: all, in
  /// place of their queries, or half of them, where what is left of memory holds these, so that the
  /// next queries can come before.
  static constexpr int kHalfResults = kWarps * 8 * kDimV * kElement;  ///< bytes
  static constexpr int kLeftBytes = kMostBytes - kStages * kStageBytes;
  static constexpr bool kResultsInQueries =
      kQueryTiles > 1 || kSharesRows || kHalfResults > kLeftBytes;
  static constexpr int kRowsAtOnce = kResultsInQueries ? 16 : 8;
  static constexpr int kResultBytes = kResultsInQueries ? kSumBytes : kHalfResults;

  static constexpr int kQueries = kStages * kStageBytes;  ///< where things lie in shared memory
  static constexpr int kResults = kQueries + kQueryTiles * kQueryBytes;
  static constexpr int kViews = kResults + kResultBytes;
  static constexpr int kSharedBytes = kViews + kViewBytes;

  // As ItemView asks for them.
  static constexpr int kNarrowRows = kRows;
  static constexpr int kNarrowKeys = kKeys;
  static constexpr int kWideKeys = kKeys;
};

}  // namespace headwise::cuda::sm90
