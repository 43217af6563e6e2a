#pragma once

#include <optional>

#include "advisor/time/step_time.h"

namespace headwise {

/// Rows of a step that one device has in one pass over the layers.
struct StepRows {
  std::int64_t attention = 1;     ///< tokens of an attention group
  std::int64_t feed_forward = 1;  ///< of a device group that shares dense layers
  std::int64_t all = 1;           ///< of the stage: what experts see
};

/// A step's chunks. Fewer rows cost more each, so that a last one that is not whole counts by its
/// own.
struct StepPasses {
  StepRows rows;                 ///< of a whole chunk
  double whole = 1.0;            ///< so many of these
  std::optional<StepRows> rest;  ///< of what is left

  /// What all passes take, by what one of some rows takes.
  template <class TimeOf>
  Estimate add_up(const TimeOf& time_of) const {
    Estimate estimate = time_of(rows).scaled(whole);
    if (rest) estimate += time_of(*rest);
    return estimate;
  }
};

StepPasses step_passes(const Deployment& deployment, const Step& step);

/// One layer, all passes.
StepTime layer_time(const LayerDescription& layer, std::int64_t hidden,
                    const Deployment& deployment, const Step& step, const DeviceTimes& times);

}  // namespace headwise
