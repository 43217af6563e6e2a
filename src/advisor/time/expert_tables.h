#pragma once

#include "advisor/time/calibrated_times.h"
#include "advisor/time/operators.h"

namespace headwise {

/// Experts from calibrations: the very shape, else another of the same types, routing and widths of
/// parallelism at as many tokens an expert, by the weights of a device: both products and reads go
/// by those then. Which says "extrapolated". Unknown, with the reason, where there is neither.
Estimate time_from_tables(const CalibratedTimes& times, const Experts& experts);

}  // namespace headwise
