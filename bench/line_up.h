#pragma once

#include <vector>

#include "bench/contest.h"

namespace headwise::bench {

/// What is compared within a job, besides peers.
enum class Pairing : std::uint8_t {
  none,
  contiguous,  ///< the others' pages with the first one's contiguous keys
  variants,    ///< a claim's others with its first one
  last,        ///< the first one with the last one
};

/// The backends that run a job.
struct LineUp {
  std::vector<Entry> entries;  ///< the one that the job is about first
  Pairing pairing = Pairing::none;
  std::string last{};  ///< what the last one is, of Pairing::last
};

LineUp line_up(const Job& job, Contest& contest, const BenchContext& context);

/// Sets the ratios of the pairing, where both sides were timed, and notes them.
void compare(LineUp& line_up);

}  // namespace headwise::bench
