#pragma once

#include "advisor/time/step_time.h"

namespace headwise {

/// Rows of a step that one device has in one pass over the layers.
struct StepRows {
  std::int64_t attention = 1;     ///< tokens of an attention group
  std::int64_t feed_forward = 1;  ///< of a device group that shares dense layers
  std::int64_t all = 1;           ///< of the stage: what experts see
  double passes = 1.0;            ///< chunks; the last one by its part
};

StepRows step_rows(const Deployment& deployment, const Step& step);

/// One layer, all passes.
StepTime layer_time(const LayerDescription& layer, std::int64_t hidden,
                    const Deployment& deployment, const Step& step, const DeviceTimes& times);

}  // namespace headwise
