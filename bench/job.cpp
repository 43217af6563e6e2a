#include "bench/job.h"

#include <set>

#include "core/log.h"

namespace headwise::bench {
namespace {

struct Work {
  Workload workload;
  ShapeSpec shape;
  const Goal* goal = nullptr;
};

void add_goals(std::span<const Goal> goals, const BenchOptions& options, std::vector<Work>& works) {
  for (const Goal& goal : goals) {
    const WorkloadOptions workload{.contexts = {goal.context},
                                   .new_tokens = {goal.new_tokens},
                                   .batch = goal.batch,
                                   .prompts = goal.prompts,
                                   .lens = parse_lens(goal.lens),
                                   .seed = options.workload.seed};
    // A goal is about one step: of Suite::paged, the decode.
    works.push_back({std::move(make_workloads(goal.suite, workload).front()),
                     parse_shape_spec(goal.shape), &goal});
  }
}

}  // namespace

Problem problem_of(const ShapeSpec& shape, const Workload& workload, Device device,
                   const PlanOptions& options) {
  StepBatch step = workload.lengths();
  step.q.device = device;
  step.tables.page_size = shape.page_size > 0 ? shape.page_size : 16;
  step.out.dtype = shape.shape.out_type();
  return headwise::problem_of(shape.shape, step, options);
}

std::vector<Job> make_jobs(const BenchOptions& options, const Registry& registry,
                           const Machine& machine, int threads) {
  std::vector<Work> works;
  for (const Suite suite : options.suites) {
    if (suite == Suite::goals)
      add_goals(
          options.goals.empty() ? goals_for(machine, threads, options.device.type) : options.goals,
          options, works);
    for (Workload& workload : make_workloads(suite, options.workload))
      works.push_back({std::move(workload), options.shape});
  }
  std::vector<Job> jobs;
  std::set<std::string> said;
  for (Work& work : works) {
    const Problem problem =
        problem_of(work.shape, work.workload, options.device, {.threads = threads});
    Choice choice = registry.choose(problem, machine, options.backend);
    const std::string line = log_line(choice, "0", problem.phase);
    if (said.insert(line).second) log(LogLevel::info, line);
    jobs.push_back({std::move(work.workload), work.shape, std::move(choice), work.goal});
  }
  return jobs;
}

}  // namespace headwise::bench
