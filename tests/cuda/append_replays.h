#pragma once

#include <functional>

#include "headwise/backend.h"

namespace headwise::conformance {

/// Makes of launches on a stream something that repeats them: a captured graph, or the launches
/// themselves.
using CaptureLaunches =
    std::function<std::function<void()>(const std::function<void(void* stream)>& launches)>;

/// Expects one captured append to serve steps of other lengths, tables and packing, which it finds
/// on the device, the host's lengths being upper bounds.
void expect_appends_for_other_lengths(const Backend& backend, const CaptureLaunches& capture);

}  // namespace headwise::conformance
