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
  double warm_up_s = 0.2;  ///< each call, once; one call at least
  double measure_s = 1.0;  ///< of timed calls each, at least
  int least_calls = 5;     ///< timed, each, unless they take ten times `measure_s`
  int least_rounds = 1;    ///< the same, of turns: for ratios of what alternates
  double rest_s = 0.0;     ///< before each turn, for threads of other processes that still spin
  double turn_s = 0.1;     ///< of one call's turn in a round
  double turn_warm_up_s = 0.0;  ///< untimed, first in each turn: for clocks that follow the load
};

/// For GPUs: rounds of 60 ms back to back, then 150 ms of timed calls.
TimingOptions gpu_timing();
/// Bursts of a GPU that a median is of, at least.
inline constexpr int kGpuBursts = 7;

/// The seconds that each timed run of one call took; empty where it was stopped before the first.
using Samples = std::vector<double>;
double median(Samples samples);  ///< of at least one

/// What one call has to do when it is its turn.
struct Turn {
  int untimed = 0;         ///< runs, first
  double seconds = 0.0;    ///< of timed runs, at least; one run at least
  double warm_up_s = 0.0;  ///< of further untimed runs, before the timed ones; about
};
/// Runs as the turn says, and returns the seconds of each timed run; none where it cannot go on,
/// and then it is not asked again.
using TurnCall = std::function<Samples(const Turn&)>;

/// Turns of a call in this process. `stop` is asked between runs.
TurnCall in_turns(std::function<void()> call, std::function<bool()> stop);

/// What was measured of one call.
struct Timing {
  Samples samples;
  Samples rounds;  ///< the median of each turn
};

/// The median, over the rounds that both were in, of `timing`'s time over `base`'s. Both have one.
double paired_ratio(const Timing& timing, const Timing& base);

/// Times `calls` in alternating rounds, so that a disturbance meets them all alike. `stop` is asked
/// between turns. Protocol::graph is a matter of the calls: their turns are those of `sustained`.
std::vector<Timing> time_calls(std::span<const TurnCall> calls, const TimingOptions& options,
                               const std::function<bool()>& stop);

}  // namespace headwise::bench
