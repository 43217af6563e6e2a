#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "bench/gpu.h"
#include "bench/timing.h"

namespace headwise::bench {

/// Calls shorter than this are replayed from graphs unless a protocol is asked for: timers around
/// single launches would add some microseconds to each.
inline constexpr double kSmallCall = 0.3e-3;  // seconds

/// Launches in a graph, some milliseconds of them: whole rounds of the copies that calls rotate
/// over.
int launches_in_graph(int copies, double seconds_a_launch);

/// Turns of what one call launches, timed by events in the GPU's stream.
class GpuTurns {
 public:
  /// `launch` rotates over `copies` copies. `gpu` must outlive this.
  GpuTurns(Gpu& gpu, Protocol protocol, int copies, std::function<void()> launch);

  /// Warm-up and timed runs go into the stream at once; the GPU never waits for the host unless
  /// launching takes longer than running. Throws Error where something failed on the GPU.
  Samples take(const Turn& turn);

  /// The clock behind the last turn.
  double mhz() const { return mhz_; }

 private:
  void prepare();
  void run();
  double time_of(int runs);

  Gpu& gpu_;
  Protocol protocol_;
  int copies_;
  std::function<void()> launch_;
  std::unique_ptr<GpuGraph> graph_;
  int calls_a_run_ = 1;
  double expected_s_ = 0.0;  // of a run; 0: not known yet
  double mhz_ = 0.0;
};

}  // namespace headwise::bench
