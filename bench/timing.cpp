#include "bench/timing.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "core/check.h"

namespace headwise::bench {
namespace {

constexpr std::array<std::string_view, 3> kProtocols{"sustained", "burst", "graph"};
constexpr double kRestSeconds = 0.025;  // of Protocol::burst

double time_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Whether `timing` says enough of a call.
bool enough(const Timing& timing, const TimingOptions& options) {
  const Samples& samples = timing.samples;
  double total = std::accumulate(samples.begin(), samples.end(), 0.0);
  // Samples of a graph are of single launches, far less than their turn took.
  if (options.protocol == Protocol::graph)
    total = std::max(total, (static_cast<double>(timing.rounds.size()) + 0.01) * options.turn_s);
  if (!samples.empty() && total >= 10.0 * options.measure_s) return true;
  if (static_cast<int>(samples.size()) < options.least_calls) return false;
  if (static_cast<int>(timing.rounds.size()) < options.least_rounds) return false;
  return options.protocol == Protocol::burst || total >= options.measure_s;
}

/// A call, what was measured of it, and what is known of it.
struct Contestant {
  const TurnCall& call;
  Timing timing;
  double expected_s = 0.0;  ///< of one run
  bool gave_up = false;

  void warm_up(double seconds) {
    const Samples samples = call({.untimed = 0, .seconds = seconds});
    gave_up = samples.empty();
    if (!gave_up) expected_s = samples.back();
  }

  void take(const Turn& turn) {
    const Samples samples = call(turn);
    gave_up = samples.empty();
    if (gave_up) return;
    timing.samples.insert(timing.samples.end(), samples.begin(), samples.end());
    timing.rounds.push_back(median(samples));
  }
};

/// Where calls are short, the one before has left its own data in the caches; long ones do not
/// notice.
Turn sustained_turn(const TimingOptions& options, double expected_s) {
  const bool cold = options.turn_warm_up_s == 0.0 && expected_s < options.turn_s;
  return {.untimed = cold ? 1 : 0, .seconds = options.turn_s, .warm_up_s = options.turn_warm_up_s};
}

void rest(double seconds) {
  if (seconds > 0.0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

TimingOptions gpu_timing() {
  return {.warm_up_s = 0.0,
          .measure_s = 0.45,
          .least_calls = 3,
          .turn_s = 0.15,
          .turn_warm_up_s = 0.06};
}

std::string_view name_of(Protocol protocol) {
  return kProtocols[static_cast<std::size_t>(protocol)];
}

Protocol parse_protocol(std::string_view name) {
  const auto* found = std::find(kProtocols.begin(), kProtocols.end(), name);
  if (found == kProtocols.end())
    throw Error(ErrorCode::unknown_name,
                concat("unknown protocol '", name, "'; there are sustained, burst, graph"));
  return static_cast<Protocol>(found - kProtocols.begin());
}

double median(Samples samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2.0;
}

TurnCall in_turns(std::function<void()> call, std::function<bool()> stop) {
  return [call = std::move(call), stop = std::move(stop)](const Turn& turn) {
    for (int i = 0; i < turn.untimed; ++i) call();
    for (double spent = 0.0; spent < turn.warm_up_s && !stop();) spent += time_of(call);
    Samples samples{time_of(call)};
    for (double total = samples.front(); total < turn.seconds && !stop(); total += samples.back())
      samples.push_back(time_of(call));
    return samples;
  };
}

double paired_ratio(const Timing& timing, const Timing& base) {
  Samples ratios;
  for (std::size_t i = 0; i < std::min(timing.rounds.size(), base.rounds.size()); ++i)
    ratios.push_back(timing.rounds[i] / base.rounds[i]);
  return median(std::move(ratios));
}

std::vector<Timing> time_calls(std::span<const TurnCall> calls, const TimingOptions& options,
                               const std::function<bool()>& stop) {
  const bool sustained = options.protocol != Protocol::burst;
  std::vector<Contestant> contestants;
  for (const TurnCall& call : calls) contestants.push_back({.call = call, .timing = {}});
  const auto each = [&](const auto& act) {
    for (Contestant& one : contestants) {
      if (one.gave_up || stop()) continue;
      rest(sustained ? options.rest_s : kRestSeconds);
      act(one);
    }
  };
  const auto done = [&] {
    return std::all_of(contestants.begin(), contestants.end(), [&](const Contestant& one) {
      return one.gave_up || enough(one.timing, options);
    });
  };
  if (sustained) each([&](Contestant& one) { one.warm_up(options.warm_up_s); });
  while (!done() && !stop())
    each([&](Contestant& one) {
      one.take(sustained ? sustained_turn(options, one.expected_s)
                         : Turn{.untimed = 1, .seconds = 0.0});
    });
  std::vector<Timing> timings;
  for (Contestant& one : contestants) timings.push_back(std::move(one.timing));
  return timings;
}

}  // namespace headwise::bench
