#include "bench/bench.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "bench/candidate.h"
#include "bench/check.h"
#include "bench/free_memory.h"
#include "core/check.h"
#include "core/log.h"

namespace headwise::bench {
namespace {

constexpr std::string_view kReference = "reference";
constexpr std::string_view kStandard = "standard";
constexpr double kLongestReference = 20.0;  // seconds that `reference` may take to be a row

/// A workload and what runs it.
struct Job {
  Workload workload;
  Choice choice;
};

/// A backend's line in the making.
struct Entry {
  Row row;
  std::unique_ptr<Candidate> candidate;  ///< null: not to be timed
};

/// One call of `bench`.
class Bench {
 public:
  Bench(const BenchOptions& options, const Registry& registry, const Machine& machine)
      : options_(options),
        registry_(registry),
        machine_(machine),
        reference_(registry.find(kReference)),
        threads_(options.threads > 0 ? options.threads : machine.cpu.threads) {}

  BenchReport run();

 private:
  std::vector<Job> make_jobs() const;
  void run_job(const Job& job);
  std::vector<Entry> prepare(const Job& job);
  Entry prepare(const Job& job, const Backend& backend);
  void check(const Job& job, StepTensors& tensors, Entry& entry);
  void time(const Job& job, std::vector<Entry>& entries);
  void fill_times(const Job& job, const Samples& samples, Row& row) const;
  StepTensors& tensors_for(const Job& job, int page_size);
  Row make_row(const Job& job, const Backend& backend) const;
  int page_size(const Backend& backend) const;
  double reference_seconds(const Job& job) const;
  PlanOptions plan_options() const { return {.threads = threads_}; }

  const BenchOptions& options_;
  const Registry& registry_;
  const Machine& machine_;
  const Backend& reference_;
  int threads_;
  BenchReport report_;
  std::map<int, std::unique_ptr<StepTensors>> tensors_;  // of the job at hand, by page size
  double reference_flops_per_s_ = 0.0;
};

int Bench::page_size(const Backend& backend) const {
  if (options_.shape.page_size > 0) return options_.shape.page_size;
  return backend.preferred_page_sizes(options_.shape.shape).front();
}

std::vector<Job> Bench::make_jobs() const {
  std::vector<Job> jobs;
  std::set<std::string> said;
  const AttentionShape& shape = options_.shape.shape;
  for (const Suite suite : options_.suites)
    for (Workload& workload : make_workloads(suite, options_.workload)) {
      StepBatch step = workload.lengths();
      step.tables.page_size = options_.shape.page_size > 0 ? options_.shape.page_size : 16;
      step.out.dtype = shape.out_type();
      const Problem problem = problem_of(shape, step, plan_options());
      Choice choice = registry_.choose(problem, machine_, options_.backend);
      const std::string line = log_line(choice, "0", problem.phase);
      if (said.insert(line).second) log(LogLevel::info, line);
      jobs.push_back({std::move(workload), std::move(choice)});
    }
  return jobs;
}

BenchReport Bench::run() {
  if (options_.timing.protocol == Protocol::graph) time_calls({}, options_.timing, options_.stop);
  const std::vector<Job> jobs = make_jobs();
  report_.device = {.name = machine_.cpu.name,
                    .instruction_sets = instruction_sets(machine_.cpu),
                    .threads = threads_,
                    .memory_bytes = machine_.cpu.memory_bytes};
  report_.limits = measure_limits(machine_, threads_, options_.probes, options_.progress);
  for (std::size_t i = 0; i < jobs.size() && !options_.stop(); ++i) {
    options_.progress(concat(i + 1, "/", jobs.size(), " ", to_string(jobs[i].workload)));
    run_job(jobs[i]);
  }
  report_.interrupted = options_.stop();
  return std::move(report_);
}

void Bench::run_job(const Job& job) {
  tensors_.clear();
  std::vector<Entry> entries = prepare(job);
  if (!options_.stop()) time(job, entries);
  for (Entry& entry : entries)
    if (entry.row.ms || !entry.row.note.empty()) report_.rows.push_back(std::move(entry.row));
}

/// The chosen backend and `standard`; where these are one, `reference` where it is quick enough.
std::vector<Entry> Bench::prepare(const Job& job) {
  std::vector<Entry> entries;
  const Backend& chosen = *job.choice.backend;
  entries.push_back(prepare(job, chosen));
  if (job.choice.forced) return entries;
  for (const Backend* backend : registry_.backends()) {
    if (backend == &chosen || options_.stop()) continue;
    const bool beside = chosen.name() == kStandard
                            ? backend == &reference_ && reference_seconds(job) < kLongestReference
                            : backend->name() == kStandard;
    if (beside) entries.push_back(prepare(job, *backend));
  }
  return entries;
}

double Bench::reference_seconds(const Job& job) const {
  if (reference_flops_per_s_ <= 0.0) return kLongestReference;
  return attention_work(options_.shape.shape, job.workload.requests()).flops /
         reference_flops_per_s_;
}

Entry Bench::prepare(const Job& job, const Backend& backend) {
  Entry entry{.row = make_row(job, backend), .candidate = nullptr};
  try {
    StepTensors& tensors = tensors_for(job, page_size(backend));
    entry.candidate =
        std::make_unique<Candidate>(backend, options_.shape.shape, tensors, plan_options());
    entry.row.kernel_row = entry.candidate->plan().row();
    entry.row.workspace_bytes = entry.candidate->plan().workspace_bytes();
    check(job, tensors, entry);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_possible) throw;
    entry.candidate = nullptr;
    entry.row.note = error.what();
  }
  return entry;
}

void Bench::check(const Job& job, StepTensors& tensors, Entry& entry) {
  options_.progress(concat(to_string(job.workload), ": checking ", entry.row.backend));
  const AttentionShape& shape = options_.shape.shape;
  const auto rows = sample_rows(shape, job.workload, options_.check_flops, options_.workload.seed);
  entry.candidate->run_poisoned(0);
  const CheckResult result =
      check_rows(shape, job.workload, tensors, 0, rows, reference_, threads_);
  reference_flops_per_s_ = result.reference_flops_per_s;
  if (result) return;
  entry.row.note = result.failure;
  entry.candidate = nullptr;
  report_.wrong = true;
}

StepTensors& Bench::tensors_for(const Job& job, int page_size) {
  std::unique_ptr<StepTensors>& tensors = tensors_[page_size];
  if (tensors) return *tensors;
  const std::int64_t bytes = bytes_a_copy(options_.shape.shape, job.workload, page_size);
  const std::int64_t free = free_memory();
  if (bytes > free / 4 * 3)
    throw Error(ErrorCode::not_possible,
                concat("q, K, V and out need ", format_bytes(static_cast<double>(bytes)), "; ",
                       format_bytes(static_cast<double>(free)), " are free"));
  const std::int64_t wanted =
      options_.rotate_bytes > 0 ? options_.rotate_bytes : machine_.cpu.last_cache_bytes / 2 * 3;
  constexpr std::int64_t kMostCopies = 4096;
  const std::int64_t fitting = std::max<std::int64_t>(1, free / 4 / bytes);
  const std::int64_t copies =
      std::min(std::clamp<std::int64_t>(wanted / bytes + 1, 2, kMostCopies), fitting);
  tensors = std::make_unique<StepTensors>(options_.shape.shape, job.workload, page_size,
                                          static_cast<int>(copies), options_.workload.seed);
  return *tensors;
}

Row Bench::make_row(const Job& job, const Backend& backend) const {
  const Workload& workload = job.workload;
  const AttentionShape& shape = options_.shape.shape;
  const HardwareLimits limits = report_.limits.hardware();
  const TimeBound bound =
      time_bound(attention_work(shape, workload.requests()), limits.products(shape.q_type).measured,
                 limits.read_bytes_per_s);
  Row row;
  row.suite = name_of(workload.suite);
  row.backend = backend.name();
  row.device = concat(machine_.cpu.name, ", ", threads_, threads_ == 1 ? " thread" : " threads");
  row.shape = to_string(shape);
  row.batch = static_cast<std::int64_t>(workload.q_lens.size());
  row.q_len = workload.longest_q();
  row.kv_len = workload.longest_kv();
  row.new_tokens = workload.tokens();
  row.lens = workload.lens;
  row.page = page_size(backend);
  row.protocol = name_of(options_.timing.protocol);
  row.limit = name_of(bound.limit());
  return row;
}

void Bench::time(const Job& job, std::vector<Entry>& entries) {
  std::vector<Entry*> right;
  std::vector<std::function<void()>> calls;
  for (Entry& entry : entries) {
    if (!entry.candidate) continue;
    right.push_back(&entry);
    calls.emplace_back([candidate = entry.candidate.get()] { candidate->run_next(); });
  }
  options_.progress(concat(to_string(job.workload), ": timing"));
  const std::vector<Samples> samples = time_calls(calls, options_.timing, options_.stop);
  for (std::size_t i = 0; i < right.size(); ++i)
    if (!samples[i].empty()) fill_times(job, samples[i], right[i]->row);
  const Row& first = entries.front().row;
  if (!job.choice.forced && first.backend == kStandard && first.ms)
    entries.front().row.note = "the chosen backend: no faster one can";
}

void Bench::fill_times(const Job& job, const Samples& samples, Row& row) const {
  const AttentionShape& shape = options_.shape.shape;
  const AttentionWork work = attention_work(shape, job.workload.requests());
  const double seconds = median(samples);
  row.ms = seconds * 1e3;
  row.ms_min = *std::min_element(samples.begin(), samples.end()) * 1e3;
  row.ms_max = *std::max_element(samples.begin(), samples.end()) * 1e3;
  row.tflops = work.flops / seconds / 1e12;
  row.gbps = work.bytes() / seconds / 1e9;
  const LimitFraction fraction =
      limit_fraction(work, report_.limits.hardware(), shape.q_type, seconds);
  row.fraction = fraction.of_measured;
  row.fraction_peak = fraction.of_peak;
  if (fraction.of_peak.value_or(0.0) > 1.0) row.note = "void: faster than the physical peak";
}

}  // namespace

BenchReport run_bench(const BenchOptions& options, const Registry& registry,
                      const Machine& machine) {
  return Bench(options, registry, machine).run();
}

}  // namespace headwise::bench
