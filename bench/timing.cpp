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
constexpr double kRoundSeconds = 0.1;  // of one call's turn in a round
constexpr std::chrono::milliseconds kRest(25);

double time_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Whether `samples` say enough of a call.
bool enough(const Samples& samples, const TimingOptions& options) {
  const double total = std::accumulate(samples.begin(), samples.end(), 0.0);
  if (!samples.empty() && total >= 10.0 * options.measure_s) return true;
  if (static_cast<int>(samples.size()) < options.least_calls) return false;
  return options.protocol == Protocol::burst || total >= options.measure_s;
}

/// Runs a call until it is warm; returns the seconds of its last run.
double warm_up(const std::function<void()>& call, double seconds,
               const std::function<bool()>& stop) {
  double last = time_of(call);
  for (double total = last; total < seconds && !stop(); total += last) last = time_of(call);
  return last;
}

/// One call's turn: runs back to back.
void take_turn(const std::function<void()>& call, double expected_s, Samples& samples,
               const std::function<bool()>& stop) {
  // The call before left its own data in the caches; long calls do not notice.
  if (expected_s < kRoundSeconds) call();
  for (double total = 0.0; total < kRoundSeconds && !stop(); total += samples.back())
    samples.push_back(time_of(call));
}

void take_burst(const std::function<void()>& call, Samples& samples) {
  std::this_thread::sleep_for(kRest);
  call();
  samples.push_back(time_of(call));
}

}  // namespace

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

std::vector<Samples> time_calls(std::span<const std::function<void()>> calls,
                                const TimingOptions& options, const std::function<bool()>& stop) {
  if (options.protocol == Protocol::graph)
    throw Error(ErrorCode::not_possible,
                "protocol graph replays CUDA graphs; on the CPU there are sustained and burst");
  std::vector<Samples> samples(calls.size());
  std::vector<double> expected(calls.size());
  if (options.protocol == Protocol::sustained)
    for (std::size_t i = 0; i < calls.size() && !stop(); ++i)
      expected[i] = warm_up(calls[i], options.warm_up_s, stop);
  const auto done = [&] {
    return std::all_of(samples.begin(), samples.end(),
                       [&](const Samples& some) { return enough(some, options); });
  };
  while (!done() && !stop()) {
    for (std::size_t i = 0; i < calls.size() && !stop(); ++i) {
      if (options.protocol == Protocol::burst)
        take_burst(calls[i], samples[i]);
      else
        take_turn(calls[i], expected[i], samples[i], stop);
    }
  }
  return samples;
}

}  // namespace headwise::bench
