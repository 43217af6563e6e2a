#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "advisor/advice/guideline.h"
#include "advisor/advice/plan_search.h"
#include "advisor/advice/sweep.h"
#include "advisor/advice/workload_answer.h"
#include "advisor/time/context_times.h"

namespace headwise {

/// A setting of the question, and why it is what it is.
struct CodesignInput {
  std::string name, value;
  std::string source;  ///< "given", "default" or "config"
  std::string why;     ///< may be empty
};

struct CodesignQuestion {
  std::string path, name;  ///< of the model
  ModelDescription model;
  Deployment deployment;
  MemoryPlan memory;
  std::vector<std::int64_t> contexts;  ///< tokens
  std::int64_t batch = 1;              ///< requests of a decode step
  std::int64_t prefix = 0;             ///< cached tokens of each context; 0: none
  std::vector<SweepRequest> sweeps;
  std::int64_t sweep_context = 0;        ///< tokens; 0: the longest of `contexts`
  bool asks_plans = false;               ///< for as many devices; else of the deployment alone
  std::int64_t plan_batch = 1;           ///< requests of the step that plans are compared by
  std::optional<double> longest_tpot_s;  ///< that plans' throughput may take
  std::optional<Workload> workload;
  std::vector<CodesignInput> inputs;

  Served served() const {
    return {model, deployment, {.memory = memory, .batch = batch, .prefix = prefix}};
  }
};

/// One layer's core attention beside the device's limits.
struct RooflinePoint {
  std::string name;        ///< "prefill 32k"
  std::string phase;       ///< "prefill", "decode"
  double intensity = 0.0;  ///< FLOPs a byte
  double flops = 0.0;
  Estimate time;
  DeviceLimit limit = DeviceLimit::bandwidth;
};

struct CodesignReport {
  std::vector<ContextTimes> contexts;
  Crossover prefill_crossover, decode_crossover;
  std::vector<RooflinePoint> roofline;
  std::vector<Guideline> guidelines;
  std::vector<Sweep> sweeps;
  PlanTable plans;
  std::optional<WorkloadAnswer> workload;
};

/// Throws Error where step_time does.
CodesignReport codesign(const CodesignQuestion& question, const DeviceTimes& times);

/// What the question asks of plans: at its longest context.
PlanQuestion plan_question(const CodesignQuestion& question);

/// For people; the parts at the longest context, the rest a line a context.
std::string codesign_text(const CodesignQuestion& question, const CodesignReport& report,
                          const Hardware& hardware);

}  // namespace headwise
