#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attention/shape_spec.h"
#include "headwise/machine.h"

namespace headwise::bench {

struct BenchOptions;
struct Work;

/// What somebody asks of Suite::claims; what is absent is chosen for the device, so that two cores
/// of a CPU are done in some three minutes.
struct ClaimOptions {
  std::optional<ShapeSpec> shape;
  std::vector<std::int64_t> contexts;  ///< tokens; the shortest and the longest where one is enough
  std::optional<std::int64_t> new_tokens;  ///< of Topic::append
  std::optional<std::int64_t> batch;       ///< of decodes
};

/// The work of every claim that can be checked on `machine`, in the order of topics.
std::vector<Work> claim_works(const BenchOptions& options, const Machine& machine);

}  // namespace headwise::bench
