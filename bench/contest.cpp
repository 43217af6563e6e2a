#include "bench/contest.h"

#include <fmt/format.h>

#include <algorithm>

#include "attention/output_bound.h"
#include "bench/free_memory.h"
#include "bench/unfilled_step.h"
#include "core/check.h"

namespace headwise::bench {
namespace {

int page_size(const ShapeSpec& shape, const Backend& backend) {
  return shape.page_size > 0 ? shape.page_size : backend.preferred_page_sizes(shape.shape).front();
}

/// Adds what a step of an entry runs; steps of one entry mostly run the same row.
void add_plan(const Plan& plan, Row& row) {
  row.workspace_bytes = std::max(row.workspace_bytes.value_or(0), plan.workspace_bytes());
  if (row.kernel_row == plan.row()) return;
  row.kernel_row += (row.kernel_row.empty() ? "" : " + ") + plan.row();
}

/// Those of the part that was added last.
void add_repeated_rows(Entry& entry) {
  if (const std::optional<double> rows = entry.parts.back()->repeated_rows())
    entry.repeated_rows = entry.repeated_rows.value_or(0.0) + *rows;
}

std::string device_text(const BenchContext& context, int threads) {
  const Device device = context.options.device;
  if (context.gpu != nullptr)
    return concat(context.machine.gpus[static_cast<std::size_t>(device.index)].name, ", ",
                  to_string(device));
  return concat(context.machine.cpu.name, ", ", threads, threads == 1 ? " thread" : " threads");
}

}  // namespace

Entry Contest::new_entry(const AttentionShape& shape, const Workload& workload, int threads) const {
  Entry entry{.row = {}, .shape = shape, .repeated_rows = {}, .time_ratio = {}};
  entry.work = work_of(shape, workload);
  Row& row = entry.row;
  row.suite = name_of(workload.suite);
  row.device = device_text(context_, threads > 0 ? threads : context_.threads);
  row.shape = to_string(shape);
  row.batch = static_cast<std::int64_t>(workload.q_lens.size());
  row.q_len = workload.longest_q();
  row.kv_len = workload.longest_kv();
  row.new_tokens = workload.tokens();
  row.lens = workload.lens;
  row.outliers = workload.outliers;
  row.protocol = name_of(context_.protocol);
  row.topic = job_.topic;
  return entry;
}

PlanOptions Contest::plan_options(const Setup& setup) const {
  return {.threads = setup.threads > 0 ? setup.threads : context_.threads,
          .batch_invariant = context_.options.batch_invariant};
}

Entry Contest::enter(const Setup& setup) {
  const AttentionShape& shape = setup.shape.shape;
  Entry entry = new_entry(shape, setup.workload, setup.threads);
  entry.row.backend = setup.backend.name();
  entry.row.page = page_size(setup.shape, setup.backend);
  entry.row.batch_invariant = context_.options.batch_invariant;
  const std::vector<Workload> whole{setup.workload};
  try {
    for (const Workload& step : setup.parts.empty() ? whole : setup.parts) {
      StepTensors& tensors = tensors_for(shape, step, static_cast<int>(*entry.row.page));
      entry.parts.push_back(
          std::make_unique<Candidate>(setup.backend, shape, tensors, plan_options(setup)));
      add_plan(entry.parts.back()->plan(), entry.row);
      entry.row.note = check(setup, step, tensors, *entry.parts.back());
      if (!entry.row.note.empty()) break;
      if (step.outliers > 0) add_repeated_rows(entry);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_possible) throw;
    entry.row.note = error.what();
    if (context_.gpu != nullptr) context_.gpu->forget_failure();
  }
  if (!entry.row.note.empty()) entry.parts.clear();
  return entry;
}

Entry Contest::plan_only(const Setup& setup) {
  Entry entry = new_entry(setup.shape.shape, setup.workload, setup.threads);
  Row& row = entry.row;
  row.backend = setup.backend.name();
  row.page = page_size(setup.shape, setup.backend);
  context_.options.progress(concat(to_string(setup.workload), ": planning ", row.backend));
  try {
    const UnfilledStep unfilled(setup.shape.shape, setup.workload, static_cast<int>(*row.page),
                                context_.gpu);
    PlanOptions options = plan_options(setup);
    if (context_.gpu != nullptr) options.stream = context_.gpu->stream();
    add_plan(*setup.backend.plan(setup.shape.shape, unfilled.step(), options), row);
    if (context_.gpu != nullptr) context_.gpu->wait();
    row.note = kPlanned;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_possible) throw;
    row.note = error.what();
  }
  return entry;
}

/// What is wrong with what the candidate writes; empty: nothing.
std::string Contest::check(const Setup& setup, const Workload& step, StepTensors& tensors,
                           Candidate& candidate) {
  context_.options.progress(concat(to_string(step), ": checking ", setup.backend.name()));
  const AttentionShape& shape = setup.shape.shape;
  Verdict verdict;
  try {
    candidate.run_poisoned(0);
    verdict = exact_rows(shape, step, tensors)
                  .judge({.data = tensors.fetch_out(0),
                          .type = shape.out_type(),
                          .bound = output_bound(shape)});
  } catch (const Error& error) {
    // It said that it can, and its kernels failed.
    if (context_.gpu == nullptr) throw;
    verdict.fault = concat("failed: ", error.what());
    context_.gpu->forget_failure();
  }
  context_.wrong = context_.wrong || !verdict.fault.empty();
  return verdict.fault;
}

const ExactRows& Contest::exact_rows(const AttentionShape& shape, const Workload& step,
                                     StepTensors& tensors) {
  std::unique_ptr<ExactRows>& exact = exact_[&tensors];
  if (exact) return *exact;
  const BenchOptions& options = context_.options;
  auto rows = sample_rows(shape, step, options.check_flops, options.workload.seed);
  exact = std::make_unique<ExactRows>(shape, step, tensors, 0, std::move(rows), context_.reference,
                                      context_.threads);
  context_.reference_flops_per_s = exact->reference_flops_per_s();
  return *exact;
}

/// As many as the last cache level cannot hold. On GPUs, of which some keep what was read before
/// what is read next, K and V alone are four times as large, and 256 MiB.
std::int64_t Contest::copies_of(const AttentionShape& shape, const Workload& step,
                                int page_size) const {
  constexpr std::int64_t kLeastOnGpu = 256LL << 20;
  std::int64_t most = 4096;
  std::int64_t bytes = bytes_a_copy(shape, step, page_size);
  std::int64_t wanted = context_.machine.cpu.last_cache_bytes / 2 * 3;
  if (context_.gpu != nullptr) {
    const auto ordinal = static_cast<std::size_t>(context_.options.device.index);
    bytes = kv_bytes_a_copy(shape, step, page_size);
    wanted = std::max(kLeastOnGpu, 4 * context_.machine.gpus[ordinal].l2_bytes);
    most = 512;  // a graph holds a launch of each
  }
  if (context_.options.rotate_bytes > 0) wanted = context_.options.rotate_bytes;
  return std::clamp<std::int64_t>(wanted / bytes + 1, 1, most);
}

StepTensors& Contest::tensors_for(const AttentionShape& shape, const Workload& step,
                                  int page_size) {
  std::unique_ptr<StepTensors>& tensors =
      tensors_[concat(to_string(shape), " page ", page_size, " ", to_string(step))];
  if (tensors) return *tensors;
  const std::int64_t bytes = bytes_a_copy(shape, step, page_size);
  const std::int64_t free = free_memory(context_.gpu);
  if (bytes > free / 4 * 3)
    throw Error(ErrorCode::not_possible,
                concat("q, K, V and out need ", format_bytes(static_cast<double>(bytes)), "; ",
                       format_bytes(static_cast<double>(free)), " are free"));
  const std::int64_t fitting = std::max<std::int64_t>(1, free / 4 / bytes);
  const std::int64_t copies = std::min(copies_of(shape, step, page_size), fitting);
  tensors = std::make_unique<StepTensors>(shape, step, page_size, static_cast<int>(copies),
                                          context_.options.workload.seed, context_.gpu);
  return *tensors;
}

std::vector<Entry> Contest::enter(std::vector<Peer>& peers) {
  std::vector<Entry> entries;
  if (peers.empty()) return entries;
  const AttentionShape& shape = job_.shape.shape;
  for (const Peer& peer : peers) {
    entries.push_back(new_entry(shape, job_.workload, 0));
    entries.back().row.backend = peer.name();
    entries.back().row.peer = true;
  }
  try {
    StepTensors& tensors =
        tensors_for(shape, job_.workload, page_size(job_.shape, *job_.choice.backend));
    SharedTensors shared(shape, job_.workload, tensors);
    for (std::size_t i = 0; i < peers.size() && !context_.options.stop(); ++i)
      prepare(peers[i], tensors, shared, entries[i]);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_possible) throw;
    for (Entry& entry : entries) entry.row.note = error.what();
  }
  return entries;
}

void Contest::prepare(Peer& peer, StepTensors& tensors, SharedTensors& shared, Entry& entry) {
  const AttentionShape& shape = job_.shape.shape;
  context_.options.progress(concat(to_string(job_.workload), ": checking ", peer.name()));
  Workload apart = job_.workload;  // few peers lay requests out over shared pages
  apart.shared_prefix = 0;
  const std::int64_t bytes = bytes_a_copy(shape, apart, tensors.page_size());
  const std::int64_t copies = copies_of(shape, job_.workload, tensors.page_size());
  try {
    if (const std::int64_t free = free_memory(context_.gpu); copies * bytes > free / 5 * 4)
      throw Error(ErrorCode::not_possible,
                  concat("its tensors need ", format_bytes(static_cast<double>(copies * bytes)),
                         "; ", format_bytes(static_cast<double>(free)), " are free"));
    const PeerSetting setting =
        peer.prepare(shared, {.copies = static_cast<int>(copies), .protocol = context_.protocol});
    if (!setting.version.empty()) entry.row.backend += " " + setting.version;
    entry.row.kernel_row = setting.setting;
    entry.row.page = setting.page;
    entry.row.note = setting.note;
    const double bound = std::max(output_bound(shape), setting.bound.value_or(0.0));
    shared.poison();
    peer.check();
    const Verdict verdict = exact_rows(shape, job_.workload, tensors)
                                .judge({.data = shared.out(), .type = DType::f32, .bound = bound});
    if (verdict.fault.empty()) {
      entry.peer = &peer;
      if (bound > output_bound(shape))
        add_note(entry.row, fmt::format("error {:.2g}, within {:g}", verdict.error, bound));
    }
    add_note(entry.row, verdict.fault);
    context_.wrong = context_.wrong || !verdict.fault.empty();
  } catch (const Error& error) {
    if (!context_.options.stop()) add_note(entry.row, error.what());
  }
}

}  // namespace headwise::bench
