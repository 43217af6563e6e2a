#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "advisor/advice/engine_flags.h"
#include "advisor/time/serving.h"

namespace headwise {

/// What plans are compared by.
struct PlanQuestion {
  ModelDescription model;
  Deployment types;  ///< without widths
  MemoryPlan memory;
  std::int64_t devices = 1;
  std::int64_t context = 0;              ///< tokens of each request
  std::int64_t prefix = 0;               ///< of them cached when the prompt comes
  std::int64_t batch = 1;                ///< requests of the step whose time is TPOT
  std::optional<double> longest_tpot_s;  ///< that throughput may take
};

/// One way of spreading the model, with its five numbers at the question's context.
struct ParallelPlan {
  std::string name;
  Deployment deployment;
  std::string why_impossible;  ///< one sentence; then nothing below is there

  bool is_memory_known = false;  ///< the device's; if not, each plan counts as one that fits
  double weights_bytes = 0.0;    ///< of the fullest device
  double kv_bytes = 0.0;         ///< that a request takes of each device, on average
  double kv_copies = 1.0;        ///< times that a request's KV lies on all devices together
  double missing_bytes = 0.0;    ///< of a device, for one request; 0: it fits
  BatchLimit largest_batch;
  StepTime first;           ///< token: requests that come together, one an attention group
  StepTime next;            ///< token, of `batch` requests
  std::int64_t served = 0;  ///< requests that throughput is of; 0: none
  StepTime at_served;       ///< a step of them
  std::string why_no_throughput;
  std::optional<double> throughput;  ///< tokens a second of all devices
  std::optional<double> efficiency;  ///< see PlanTable
  bool best_latency = false, best_throughput = false;
  std::string loses_because;  ///< one sentence; empty: it is best in something
  EngineFlags vllm, trtllm;

  bool is_possible() const { return why_impossible.empty(); }
  bool holds(std::int64_t batch) const {
    return is_possible() && (!is_memory_known || largest_batch.requests >= batch);
  }
  bool fits() const { return holds(1); }
};

/// `deployment` at the question's context. Never throws for a plan that is impossible or too large.
ParallelPlan evaluate_plan(const PlanQuestion& question, const Deployment& deployment,
                           const DeviceTimes& times);

}  // namespace headwise
