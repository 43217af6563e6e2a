#pragma once

#include "bench/bench.h"

namespace headwise::bench {

/// A bench of a moment.
inline BenchOptions short_options() {
  BenchOptions options;
  options.suites = {Suite::decode};
  options.shape = parse_shape_spec("q4:kv2:d16");
  options.workload.contexts = {64};
  options.threads = 1;
  options.timing = {.warm_up_s = 0.0, .measure_s = 0.001, .least_calls = 2};
  options.probes = {.seconds = 0.005, .read_bytes = 4 << 20, .product_size = 64};
  options.check_flops = 1e6;
  options.rotate_bytes = 1 << 20;
  options.peer_timeout_s = 20.0;
  return options;
}

}  // namespace headwise::bench
