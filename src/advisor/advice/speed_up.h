#pragma once

#include <string>

#include "advisor/time/step_time.h"

namespace headwise {

/// How many times as fast something becomes.
struct SpeedUp {
  double ratio = 1.0;
  double error = 0.0;   ///< relative
  std::string source;   ///< the weaker of the two times'
  std::string why_not;  ///< not empty: there is none

  explicit operator bool() const { return why_not.empty(); }
};

/// before / after, with the error of the worst case, to first order. Times of two tables may be off
/// by a and b against each other: a + b. Of the same tables, or rates, half of either error is
/// taken to be common to both times, the other half its own: |a - b| / 2 + (a + b) / 2, the larger
/// one.
SpeedUp speed_up(const Estimate& before, const Estimate& after);

/// Of the whole step: the sum of its parts' errors as above, a and b times their shares. Parts that
/// do not change are off by the same e on both sides: e |share before - share after|.
SpeedUp speed_up(const StepTime& before, const StepTime& after);

}  // namespace headwise
