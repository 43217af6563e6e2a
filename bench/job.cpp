#include "bench/job.h"

#include <algorithm>
#include <regex>
#include <set>

#include "bench/cache_bench.h"
#include "bench/claim_works.h"
#include "core/check.h"
#include "core/log.h"

namespace headwise::bench {
namespace {

void add_goals(std::span<const Goal> goals, const BenchOptions& options, std::vector<Work>& works) {
  for (const Goal& goal : goals) {
    const WorkloadOptions workload{.contexts = {goal.context},
                                   .new_tokens = {goal.new_tokens},
                                   .batch = goal.batch,
                                   .prompts = goal.prompts,
                                   .lens = parse_lens(goal.lens),
                                   .shared_prefix = goal.shared_prefix,
                                   .outliers = goal.outliers,
                                   .seed = options.workload.seed};
    // A goal is about one step: of Suite::paged, the decode or the prefill.
    std::vector<Workload> made = make_workloads(goal.suite, workload);
    const bool last = goal.suite == Suite::paged && goal.new_tokens > 1;
    works.push_back(
        {std::move(last ? made.back() : made.front()), parse_shape_spec(goal.shape), &goal});
  }
}

/// Keeps the goals and claims whose names have what `options.only` looks for.
void keep_wanted(const BenchOptions& options, std::vector<Work>& works) {
  if (options.only.empty()) return;
  const std::regex pattern(options.only);
  const auto named = [&](const Work& work) {
    if (work.goal != nullptr) return std::regex_search(to_string(*work.goal), pattern);
    return !work.topic || std::regex_search(std::string(name_of(*work.topic)), pattern);
  };
  std::erase_if(works, [&](const Work& work) { return !named(work); });
  if (works.empty() && !(wants_cache(options) && has_cache_row(options.only)))
    throw Error(ErrorCode::unknown_name,
                concat("no goal, claim or cache row has '", options.only, "' in its name"));
}

}  // namespace

bool wants_cache(const BenchOptions& options) {
  return std::any_of(options.suites.begin(), options.suites.end(), [&](Suite suite) {
    return suite == Suite::cache || (suite == Suite::goals && options.goals.empty() &&
                                     options.device.type == DeviceType::cpu);
  });
}

Problem problem_of(const ShapeSpec& shape, const Workload& workload, Device device,
                   const PlanOptions& options) {
  StepBatch step = workload.lengths();
  step.q.device = device;
  step.tables.page_size = shape.page_size > 0 ? shape.page_size : 16;
  step.out.dtype = shape.shape.out_type();
  Problem problem = headwise::problem_of(shape.shape, step, options);
  problem.shared_prefixes = workload.shared_prefix > 0;
  return problem;
}

std::vector<Job> make_jobs(const BenchOptions& options, const Registry& registry,
                           const Machine& machine, int threads) {
  std::vector<Work> works;
  for (const Suite suite : options.suites) {
    if (suite == Suite::goals)
      add_goals(
          options.goals.empty() ? goals_for(machine, threads, options.device.type) : options.goals,
          options, works);
    if (suite == Suite::claims)
      for (Work& work : claim_works(options, machine)) works.push_back(std::move(work));
    for (Workload& workload : make_workloads(suite, options.workload))
      works.push_back({std::move(workload), options.shape});
  }
  keep_wanted(options, works);
  std::vector<Job> jobs;
  std::set<std::string> said;
  for (Work& work : works) {
    const Problem problem =
        problem_of(work.shape, work.workload, options.device,
                   {.threads = threads, .batch_invariant = options.batch_invariant});
    Choice choice = registry.choose(problem, machine, options.backend);
    const std::string line = log_line(choice, "0", problem.phase);
    if (said.insert(line).second) log(LogLevel::info, line);
    jobs.push_back({std::move(work), std::move(choice)});
  }
  return jobs;
}

}  // namespace headwise::bench
