#pragma once

#include <memory>

#include "headwise/backend.h"

namespace headwise::cuda::standard {

inline constexpr std::string_view kName = "cuda-standard";

/// explain() said yes. Row buffers take at most `budget` bytes of the workspace, or what one token
/// needs.
///
/// The schedule is the host's: run() launches request after request as the step's lengths on the
/// host say. A captured graph replays these launches, so it serves steps of the same host lengths,
/// and shorter ones through device_lengths; a step that update() takes needs a new capture.
std::unique_ptr<Plan> make_plan(const Problem& problem, const Support& support,
                                std::int64_t budget);

}  // namespace headwise::cuda::standard
