#include "bench/line_up.h"

#include <fmt/format.h>

namespace headwise::bench {
namespace {

constexpr double kLongestReference = 20.0;  // seconds that `reference` may take to be a row

/// The backend that writes S and P out, of those for the run's device.
std::string_view standard(const BenchContext& context) {
  return context.gpu != nullptr ? "cuda-standard" : "standard";
}

/// Whether `reference` would be done with the job soon.
bool reference_is_quick(const Job& job, const BenchContext& context) {
  if (context.gpu != nullptr || context.reference_flops_per_s <= 0.0) return false;
  return attention_work(job.shape.shape, job.workload.requests()).flops <
         kLongestReference * context.reference_flops_per_s;
}

/// The chosen backend and `standard`; where these are one, `reference` where it is quick enough.
/// A goal is about the chosen one alone.
std::vector<Entry> beside_standard(const Job& job, Contest& contest, const BenchContext& context) {
  const Backend& chosen = *job.choice.backend;
  std::vector<Entry> entries;
  entries.push_back(contest.enter({chosen, job.shape, {job.workload}}));
  if (chosen.name() == standard(context) && !job.choice.forced)
    add_note(entries.front().row,
             entries.front().parts.empty() ? "" : "the chosen backend: no faster one can");
  if (job.choice.forced || job.goal != nullptr) return entries;
  for (const Backend* backend : context.registry.backends()) {
    if (backend == &chosen || context.options.stop()) continue;
    const bool beside = chosen.name() == standard(context)
                            ? backend == &context.reference && reference_is_quick(job, context)
                            : backend->name() == standard(context);
    if (beside) entries.push_back(contest.enter({*backend, job.shape, {job.workload}}));
  }
  return entries;
}

/// Keys that lie in one page, then shuffled pages.
std::vector<Entry> over_pages(const Job& job, Contest& contest) {
  std::vector<int> pages{64, 16};
  if (job.shape.page_size > 0) pages = {job.shape.page_size};
  pages.insert(pages.begin(), job.workload.longest_kv());
  std::vector<Entry> entries;
  for (const int page : pages)
    entries.push_back(
        contest.enter({*job.choice.backend, {job.shape.shape, page}, {job.workload}}));
  return entries;
}

/// The prompts' chunks and the decodes of a mixed step, apart.
Entry parts_of(const Job& job, Contest& contest) {
  const Workload& whole = job.workload;
  return contest.enter({*job.choice.backend,
                        job.shape,
                        {requests_of(whole, 0, whole.prompts),
                         requests_of(whole, whole.prompts, whole.q_lens.size() - whole.prompts)}});
}

/// The same with BF16 in the cache.
Entry bf16_twin(const Job& job, Contest& contest, const BenchContext& context) {
  ShapeSpec twin = job.shape;
  twin.shape.kv_type = DType::bf16;
  const Problem problem =
      problem_of(twin, job.workload, context.options.device, {.threads = context.threads});
  const Choice choice = context.registry.choose(problem, context.machine, context.options.backend);
  return contest.enter({*choice.backend, twin, {job.workload}});
}

void note_ratio(Entry& entry, const Entry& base, bool speed, const char* of) {
  if (!entry.timed() || !base.timed()) return;
  entry.time_ratio = paired_ratio(entry.timing, base.timing);
  const std::size_t rounds = std::min(entry.timing.rounds.size(), base.timing.rounds.size());
  add_note(entry.row, fmt::format("{:.3f} x the {} of {} (median of {} rounds)",
                                  speed ? 1.0 / *entry.time_ratio : *entry.time_ratio,
                                  speed ? "speed" : "time", of, rounds));
}

}  // namespace

LineUp line_up(const Job& job, Contest& contest, const BenchContext& context) {
  if (job.workload.suite == Suite::paged) return {over_pages(job, contest), Pairing::contiguous};
  LineUp result{beside_standard(job, contest, context), Pairing::none};
  if (job.workload.suite == Suite::mixed) {
    result.pairing = Pairing::parts;
    result.entries.push_back(parts_of(job, contest));
  }
  if (job.goal != nullptr && job.goal->targets[0].against == Against::bf16) {
    result.pairing = Pairing::bf16;
    result.entries.push_back(bf16_twin(job, contest, context));
  }
  return result;
}

void compare(LineUp& line_up) {
  std::vector<Entry>& entries = line_up.entries;
  switch (line_up.pairing) {
    case Pairing::none:
      return;
    case Pairing::contiguous:
      if (entries.front().timed()) add_note(entries.front().row, "contiguous keys");
      for (std::size_t i = 1; i < entries.size(); ++i)
        note_ratio(entries[i], entries.front(), true, "contiguous keys");
      return;
    case Pairing::parts:
      if (entries.back().timed())
        add_note(entries.back().row, "its parts: the prompts, then the decodes");
      return note_ratio(entries.front(), entries.back(), false, "its parts");
    case Pairing::bf16:
      return note_ratio(entries.front(), entries.back(), false, "BF16");
  }
}

}  // namespace headwise::bench
