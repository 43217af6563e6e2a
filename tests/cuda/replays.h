#pragma once

#include <functional>

#include "headwise/backend.h"

namespace headwise::conformance {

/// Makes of a run something that repeats it: a captured graph, or the run itself.
using Capture = std::function<std::function<void()>(Plan& plan, const RunArgs& args)>;

/// Expects one captured run to serve steps of other lengths, idle slots among them, after
/// Plan::update alone: addresses and workspace stay. `recapture`: the backend's contract asks for a
/// new capture after an update.
void expect_replays_for_other_steps(const Backend& backend, const Capture& capture, bool recapture);

/// Expects kernels to take lengths from the device, the host's being upper bounds: one captured run
/// serves several; rows past a request's length there are not written, and tables of requests
/// without rows there are not read.
void expect_lengths_from_the_device(const Backend& backend, const Capture& capture);

}  // namespace headwise::conformance
