#pragma once

#include <vector>

#include "bench/contest.h"

namespace headwise::bench {

/// What the first backend of a job is compared with, besides peers: others of the same job.
enum class Pairing : std::uint8_t {
  none,
  contiguous,  ///< the others' pages with the first one's contiguous keys
  parts,       ///< a mixed step with the last one's two calls
  bf16,        ///< 8-bit KV with BF16, the second one
};

/// The backends that run a job.
struct LineUp {
  std::vector<Entry> entries;  ///< the one that the job is about first
  Pairing pairing = Pairing::none;
};

LineUp line_up(const Job& job, Contest& contest, const BenchContext& context);

/// Sets the ratios of the pairing, where both sides were timed, and notes them.
void compare(LineUp& line_up);

}  // namespace headwise::bench
