#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "headwise/attention_shape.h"

namespace headwise {

/// Positions first ... last, both included; empty where last < first.
struct PositionRange {
  std::int64_t first = 0;
  std::int64_t last = -1;

  bool empty() const { return last < first; }
  bool contains(std::int64_t position) const { return position >= first && position <= last; }
};

/// Which keys a row sees, by position: p - left ... p + right, -1 unlimited.
struct Mask {
  static constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 4;

  std::int64_t left = -1;
  std::int64_t right = 0;

  explicit Mask(const AttentionShape& shape)
      : left(std::min(shape.window_left, kFar)), right(std::min(shape.window_right, kFar)) {}

  /// Positions that a row at `position` sees.
  PositionRange seen_from(std::int64_t position) const { return seen_from({position, position}); }

  /// Positions that some row of `rows` sees: one range, since each row's includes its own position.
  PositionRange seen_from(const PositionRange& rows) const {
    if (rows.empty()) return {};
    return {left < 0 ? -kFar : rows.first - left, right < 0 ? kFar : rows.last + right};
  }
};

}  // namespace headwise
