#include "headwise/step_batch.h"

#include <algorithm>

#include "headwise/plan.h"

namespace headwise {

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::prefill:
      return "prefill";
    case Phase::append:
      return "append";
    case Phase::decode:
      return "decode";
    case Phase::mixed:
      return "mixed";
  }
  return "";
}

Phase phase_of(const StepBatch& step) {
  bool prefill = false;
  bool append = false;
  bool decode = false;
  for (std::size_t r = 0; r < step.q_lens.size(); ++r) {
    if (step.q_lens[r] == 0) continue;
    if (step.q_lens[r] == 1)
      decode = true;
    else if (step.kv_lens[r] > step.q_lens[r])
      append = true;
    else
      prefill = true;
  }
  if (prefill + append + decode > 1) return Phase::mixed;
  return append ? Phase::append : decode ? Phase::decode : Phase::prefill;
}

Capacity extent_of(const StepBatch& step) {
  Capacity extent{.requests = step.requests()};
  for (std::size_t r = 0; r < step.q_lens.size(); ++r) {
    extent.tokens += step.q_lens[r];
    extent.q_len = std::max(extent.q_len, step.q_lens[r]);
    extent.kv_len = std::max(extent.kv_len, step.kv_lens[r]);
    extent.pairs = std::max(extent.pairs, std::int64_t{step.q_lens[r]} * step.kv_lens[r]);
  }
  return extent;
}

}  // namespace headwise
