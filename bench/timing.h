#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace headwise::bench {

/// How calls are laid out in time, which moves a figure where a device slows down under load.
enum class Protocol {
  sustained,  ///< warm-up, then calls back to back
  burst,      ///< 25 ms of rest, one call untimed, one timed
  graph,      ///< replays of a captured CUDA graph
};

std::string_view name_of(Protocol protocol);
/// Throws Error(unknown_name) that lists the protocols.
Protocol parse_protocol(std::string_view name);

struct TimingOptions {
  Protocol protocol = Protocol::sustained;
  double warm_up_s = 0.2;  ///< each call; one call at least
  double measure_s = 1.0;  ///< of timed calls each, at least
  int least_calls = 5;     ///< timed, each, unless they take ten times `measure_s`
};

/// The seconds that each timed run of one call took; empty where it was stopped before the first.
using Samples = std::vector<double>;
double median(Samples samples);  ///< of at least one

/// Times `calls` in alternating rounds, so that a disturbance meets them all alike. `stop` is asked
/// between calls. Throws Error(not_possible) for Protocol::graph: the CPU has no graphs.
std::vector<Samples> time_calls(std::span<const std::function<void()>> calls,
                                const TimingOptions& options, const std::function<bool()>& stop);

}  // namespace headwise::bench
