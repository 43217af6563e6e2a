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

/// before / after. Where both times come from the same tables, or rates, their errors go together
/// (estimate.h), and the larger one counts: the other half is taken to cancel. Else both count.
SpeedUp speed_up(const Estimate& before, const Estimate& after);

/// Of the whole step. Parts that do not change are off by the same on both sides, so that their
/// error counts only by how much their share changes; parts that do count as above, each by its
/// share.
SpeedUp speed_up(const StepTime& before, const StepTime& after);

}  // namespace headwise
