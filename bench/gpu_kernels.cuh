#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "bench/random_fill.h"

namespace headwise::bench {

/// What the clock kernel writes: over the same span of time.
struct ClockReading {
  std::int64_t cycles;
  std::int64_t nanoseconds;
};

/// fill_random() on a device. `table` lies there and has entries of `element` bytes, 1, 2 or 4;
/// `to` is aligned to 16 bytes.
void launch_fill(void* to, const void* table, std::int64_t element, std::int64_t count,
                 std::uint64_t seed, cudaStream_t stream);

/// fill_outliers() on a device, with such a table.
void launch_fill_outliers(void* to, const void* table, std::int64_t element,
                          const OutlierRows& outliers, std::uint64_t seed, cudaStream_t stream);

/// Reads `bytes`, a multiple of 16, from an address that is one. `sum` is some memory of 16 bytes,
/// which only unlikely data writes to.
void launch_read(const void* from, std::int64_t bytes, int blocks, void* sum, cudaStream_t stream);

/// Writes one reading, of about 0.1 ms.
void launch_clock(ClockReading* to, cudaStream_t stream);

}  // namespace headwise::bench
