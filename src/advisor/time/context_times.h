#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "advisor/time/serving.h"

namespace headwise {

/// What requests look like besides their length.
struct Load {
  MemoryPlan memory;
  std::int64_t batch = 1;   ///< requests of a decode step
  std::int64_t prefix = 0;  ///< cached tokens of each context; 0: none
};

/// A model as it is served.
struct Served {
  ModelDescription model;
  Deployment deployment;
  Load load;
};

/// What a context of so many tokens costs.
struct ContextTimes {
  std::int64_t context = 0;
  StepTime prefill;                ///< of all of it
  std::optional<StepTime> append;  ///< of what lies behind the cached prefix
  std::string why_no_append;
  StepTime decode;                                   ///< of `batch` requests, each at this context
  std::int64_t kv_bytes = 0, kv_bytes_in_pages = 0;  ///< of one request, all devices
  BatchLimit largest_batch;
  Estimate decode_at_largest;  ///< a step; unknown without a batch

  /// The prompt's: what is not cached.
  Estimate first_token() const { return append ? append->total() : prefill.total(); }
};

/// "4k", "1000".
std::string short_size(std::int64_t tokens);

/// Throws Error where step_time does, and below 2 tokens: a decode sees a token before its own.
ContextTimes context_times(const Served& served, std::int64_t context, const DeviceTimes& times);

}  // namespace headwise
