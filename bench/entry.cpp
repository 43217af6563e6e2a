#include "bench/entry.h"

#include <fmt/format.h>

#include <algorithm>

namespace headwise::bench {
namespace {

std::optional<double> fastest_peer(const Entries& entries, std::string_view name = {},
                                   bool paged = false) {
  std::optional<double> fastest;
  for (const Entry& entry : entries.list)
    if (entry.row.peer && entry.timed() && entry.row.backend.starts_with(name) &&
        (!paged || entry.row.page))
      fastest = std::min(fastest.value_or(entry.seconds()), entry.seconds());
  return fastest;
}

/// The rate that steps of `type` are measured by, where peers have it, too.
ProductRate* rate_of(HardwareLimits& limits, DType type) {
  if (type == DType::f32) return &limits.f32;
  if (type == DType::f16) return &limits.f16;
  return type == DType::bf16 ? &limits.bf16 : nullptr;
}

/// Raises `limits` to what the peers reached.
void raise(HardwareLimits& limits, const std::vector<Entries>& all) {
  for (const Entries& entries : all)
    for (const Entry& entry : entries.list) {
      if (!entry.row.peer || !entry.timed()) continue;
      limits.read_bytes_per_s =
          std::max(limits.read_bytes_per_s, entry.work.bytes() / entry.seconds());
      if (ProductRate* rate = rate_of(limits, entry.shape.q_type))
        rate->measured = std::max(rate->measured, entry.work.flops / entry.seconds());
    }
}

/// The best read of any probe, peer or backend, in bytes a second.
double best_read(const HardwareLimits& limits, const std::vector<Entries>& all) {
  double best = limits.read_bytes_per_s;
  for (const Entries& entries : all)
    for (const Entry& entry : entries.list)
      if (entry.timed()) best = std::max(best, entry.work.bytes() / entry.seconds());
  return best;
}

/// The run's limits, on a GPU with the peaks at the entry's clock.
HardwareLimits limits_of(const BenchReport& report, const Entry& entry) {
  HardwareLimits limits = report.best;
  if (!report.device.gpu || entry.mhz.empty()) return limits;
  const HardwareLimits at =
      hardware_limits(*report.device.gpu, report.gpu_limits, median(entry.mhz));
  limits.f32.peak = at.f32.peak;
  limits.f16.peak = at.f16.peak;
  limits.bf16.peak = at.bf16.peak;
  limits.f8e4m3.peak = at.f8e4m3.peak;
  return limits;
}

/// "one query row in 10000 is an outlier, 2048 rows taken again a call".
std::string outlier_note(const Entry& entry) {
  const std::int64_t every = entry.row.outliers;
  std::string note = every == 1 ? "each query row is an outlier"
                                : fmt::format("one query row in {} is an outlier", every);
  if (const std::optional<double>& rows = entry.repeated_rows)
    note += fmt::format("; {:.{}f} rows taken again a call", *rows, *rows < 10.0 ? 1 : 0);
  return note;
}

void fill_times(const HardwareLimits& limits, Entry& entry) {
  Row& row = entry.row;
  row.limit = name_of(
      time_bound(entry.work, limits.products(entry.shape.q_type).measured, limits.read_bytes_per_s)
          .limit());
  row.time_ratio = entry.time_ratio;
  if (!entry.timed()) return;
  if (!entry.mhz.empty()) row.sm_mhz = median(entry.mhz);
  if (row.outliers > 0) add_note(row, outlier_note(entry));
  if (row.batch_invariant) add_note(row, "batch_invariant");
  const Samples& samples = entry.timing.samples;
  const double seconds = entry.seconds();
  row.ms = seconds * 1e3;
  row.ms_min = *std::min_element(samples.begin(), samples.end()) * 1e3;
  row.ms_max = *std::max_element(samples.begin(), samples.end()) * 1e3;
  row.tflops = entry.work.flops / seconds / 1e12;
  row.gbps = entry.work.bytes() / seconds / 1e9;
  const LimitFraction fraction = limit_fraction(entry.work, limits, entry.shape.q_type, seconds);
  row.fraction = fraction.of_measured;
  row.fraction_peak = fraction.of_peak;
  if (fraction.of_peak.value_or(0.0) > 1.0) add_note(row, "void: faster than the physical peak");
}

std::vector<Judged> judge_entry(const Entries& entries, const BenchReport& report, double read) {
  const Entry& entry = entries.list[entries.judged];
  GoalEvidence evidence;
  if (entry.timed()) {
    evidence.seconds = entry.seconds();
    evidence.flops_per_s = entry.work.flops / entry.seconds();
    evidence.bytes_per_s = entry.work.bytes() / entry.seconds();
    evidence.fastest_peer_s = fastest_peer(entries);
    evidence.pytorch_s = fastest_peer(entries, "pytorch");
    evidence.flash2_s = fastest_peer(entries, kFlash2);
    evidence.paged_peer_s = fastest_peer(entries, "", true);
    evidence.vllm_s = fastest_peer(entries, kVllmFlash3);
    evidence.time_ratio = entry.time_ratio;
    evidence.gemm = report.probed().products(entry.shape.q_type).measured;
    evidence.dot = report.limits.hardware().bf16.peak.value_or(0.0);
    evidence.fma = report.limits.f32_fma;
    evidence.read = read;
    evidence.group = entry.shape.group_size();
  }
  return judge(*entries.goal, evidence);
}

}  // namespace

void fill_rows(std::vector<Entries>& all, BenchReport& report) {
  report.best = report.probed();
  raise(report.best, all);
  const double read = best_read(report.best, all);
  for (Entries& entries : all) {
    const std::optional<double> peer = fastest_peer(entries);
    if (entries.goal != nullptr)
      entries.list[entries.judged].row.goals = judge_entry(entries, report, read);
    for (Entry& entry : entries.list) {
      fill_times(limits_of(report, entry), entry);
      if (peer && entry.timed()) entry.row.times_peer = *peer / entry.seconds();
      const Row& row = entry.row;
      if (row.ms || !row.note.empty() || !row.goals.empty())
        report.rows.push_back(std::move(entry.row));
    }
  }
}

}  // namespace headwise::bench
