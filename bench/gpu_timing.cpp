#include "bench/gpu_timing.h"

#include <algorithm>
#include <cmath>

namespace headwise::bench {
namespace {

constexpr double kGraph = 3e-3;       // seconds of launches in a graph, about
constexpr double kShortest = 1e-6;    // seconds that a run takes at least, against division by zero
constexpr double kSureAtOnce = 0.01;  // seconds of a run whose time one run tells well enough
constexpr int kMostRuns = 20'000;     // in a turn: each has an event

/// Runs that take so many seconds; none where that is less than a tenth of one.
int runs_in(double seconds, double each) {
  return static_cast<int>(std::min<double>(kMostRuns, std::floor(seconds / each + 0.9)));
}

}  // namespace

int launches_in_graph(int copies, double seconds_a_launch) {
  constexpr int kMostRounds = 64;
  const double rounds = std::ceil(kGraph / (seconds_a_launch * copies));
  return copies * static_cast<int>(std::clamp<double>(rounds, 1.0, kMostRounds));
}

GpuTurns::GpuTurns(Gpu& gpu, Protocol protocol, int copies, std::function<void()> launch)
    : gpu_(gpu), protocol_(protocol), copies_(copies), launch_(std::move(launch)) {}

void GpuTurns::run() {
  if (graph_)
    graph_->launch();
  else
    launch_();
}

/// Seconds of each of so many runs.
double GpuTurns::time_of(int runs) {
  gpu_.mark(0);
  for (int i = 0; i < runs; ++i) run();
  gpu_.mark(1);
  return std::max(kShortest, gpu_.seconds_between(0, 1) / runs);
}

/// Learns how long a run takes, and makes the graph.
void GpuTurns::prepare() {
  expected_s_ = time_of(1);
  if (expected_s_ < kSureAtOnce) expected_s_ = time_of(2);
  if (protocol_ != Protocol::graph) return;
  const int launches = launches_in_graph(copies_, expected_s_);
  graph_ = gpu_.capture([&] {
    for (int i = 0; i < launches; ++i) launch_();
  });
  calls_a_run_ = launches;
  // The first replay brings the graph to the device.
  run();
  expected_s_ = time_of(1);
}

Samples GpuTurns::take(const Turn& turn) {
  if (expected_s_ == 0.0) prepare();
  const int untimed = turn.untimed + runs_in(turn.warm_up_s, expected_s_);
  const int timed = std::max(1, runs_in(turn.seconds, expected_s_));
  for (int i = 0; i < untimed; ++i) run();
  gpu_.mark(0);
  for (int i = 1; i <= timed; ++i) {
    run();
    gpu_.mark(i);
  }
  mhz_ = gpu_.clock_mhz();
  Samples samples;
  for (int i = 1; i <= timed; ++i)
    samples.push_back(std::max(kShortest, gpu_.seconds_between(i - 1, i)) / calls_a_run_);
  expected_s_ = std::max(kShortest, median(samples) * calls_a_run_);
  return samples;
}

}  // namespace headwise::bench
