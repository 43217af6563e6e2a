#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "advisor/advice/speed_up.h"
#include "advisor/time/context_times.h"

namespace headwise {

enum class GuidelineVerdict : std::uint8_t { follows, partly, breaks, does_not_apply };
const char* name_of(GuidelineVerdict verdict);  ///< "does not apply"

/// What a change makes of one phase.
struct Gain {
  std::string change;        ///< "group size 4 -> 8"
  std::string phase;         ///< "prefill", "decode", or "throughput" of as many as fit
  std::int64_t context = 0;  ///< tokens
  std::int64_t batch = 0;    ///< requests of a step; of throughput before the change
  SpeedUp attention;         ///< of the core; of throughput unknown
  SpeedUp total;             ///< TTFT, TPOT or tokens a second
};

/// What a guideline says of a model as it is served (docs/guidelines.md).
struct Guideline {
  std::string name;  ///< "group size"
  GuidelineVerdict verdict = GuidelineVerdict::does_not_apply;
  std::string reason;  ///< the mechanism in one sentence, with this model's and device's numbers
  std::string gain;    ///< the best change in one sentence; empty: there is none
  std::vector<Gain> gains;  ///< of all changes that were tried
  std::string check;        ///< what must be verified, and whether the model must be trained again
};

/// Group size, head dimension, effective KV state, parallel width, judged at one context. Verdicts
/// follow from what the changes gain in step_time, never from an ideal ratio.
std::vector<Guideline> judge_guidelines(const Served& served, std::int64_t context,
                                        const DeviceTimes& times);

}  // namespace headwise
