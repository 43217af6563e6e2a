#pragma once

#include <optional>
#include <string>

#include "advisor/advice/workload.h"
#include "advisor/time/serving.h"

namespace headwise {

/// A target and what there is.
struct TargetAnswer {
  bool is_met = false;
  double margin_ms = 0.0;  ///< the target less the time
  bool is_sure = false;    ///< the time's error does not reach the target
};

/// What a workload sees while all its conversations are in their last turn, on devices that do both
/// prefill and decode.
struct WorkloadAnswer {
  std::int64_t context = 0;  ///< tokens of a conversation at its end
  StepTime first;            ///< token of the last turn, behind what is cached
  Estimate first_of_all;     ///< the same with nothing cached
  StepTime next;             ///< token of all conversations, each at its end
  /// A turn of all conversations: their prefills, one group after another, and their decode steps.
  Estimate turn;
  /// Of a token, prefills of others included: turn / output.
  Estimate next_with_prefills;

  double kv_bytes = 0.0;                  ///< of all devices, the shared prefix once a group
  double kv_bytes_without_sharing = 0.0;  ///< each conversation with a prefix of its own
  /// Conversations that fit at once; 0: none, or not known, as `why_none` says.
  std::int64_t most_conversations = 0, most_without_sharing = 0;
  std::string why_none;
  std::optional<double> throughput;  ///< answered tokens a second, if all conversations fit
  std::optional<TargetAnswer> ttft, tpot;
  std::string limit;  ///< one sentence: what stands in the way, or takes most of the time
};

/// Times where they are known, whether or not the conversations fit. Throws Error where step_time
/// does.
WorkloadAnswer answer_workload(const Workload& workload, const ModelDescription& model,
                               const Deployment& deployment, const MemoryPlan& memory,
                               const DeviceTimes& times);

}  // namespace headwise
