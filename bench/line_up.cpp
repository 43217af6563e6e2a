#include "bench/line_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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
  return work_of(job.shape.shape, job.workload).flops <
         kLongestReference * context.reference_flops_per_s;
}

/// The chosen backend and `standard`; where these are one, `reference` where it is quick enough.
/// A goal is about the chosen one alone.
std::vector<Entry> beside_standard(const Job& job, Contest& contest, const BenchContext& context) {
  const Backend& chosen = *job.choice.backend;
  std::vector<Entry> entries;
  entries.push_back(contest.enter({chosen, job.shape, job.workload}));
  if (chosen.name() == standard(context) && !job.choice.forced)
    add_note(entries.front().row,
             entries.front().parts.empty() ? "" : "the chosen backend: no faster one can");
  if (job.choice.forced || job.goal != nullptr) return entries;
  for (const Backend* backend : context.registry.backends()) {
    if (backend == &chosen || context.options.stop()) continue;
    const bool beside = chosen.name() == standard(context)
                            ? backend == &context.reference && reference_is_quick(job, context)
                            : backend->name() == standard(context);
    if (beside) entries.push_back(contest.enter({*backend, job.shape, job.workload}));
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
    entries.push_back(contest.enter({*job.choice.backend, {job.shape.shape, page}, job.workload}));
  return entries;
}

/// The prompts' chunks and the decodes of a mixed step, apart.
Entry parts_of(const Job& job, Contest& contest) {
  const Workload& whole = job.workload;
  return contest.enter({*job.choice.backend,
                        job.shape,
                        whole,
                        {requests_of(whole, 0, whole.prompts),
                         requests_of(whole, whole.prompts, whole.q_lens.size() - whole.prompts)}});
}

const Backend& chosen_for(const ShapeSpec& shape, const Workload& workload,
                          const BenchContext& context) {
  const Problem problem =
      problem_of(shape, workload, context.options.device,
                 {.threads = context.threads, .batch_invariant = context.options.batch_invariant});
  return *context.registry.choose(problem, context.machine, context.options.backend).backend;
}

/// The other step that a goal compares its own with.
struct Twin {
  ShapeSpec shape;
  Workload workload;
  const char* name;
};

std::optional<Twin> twin_of(const Job& job) {
  if (job.goal == nullptr) return {};
  Twin twin{job.shape, job.workload, ""};
  if (job.goal->wants(Against::bf16)) {
    twin.shape.shape.kv_type = DType::bf16;
    twin.name = "BF16";
  } else if (job.goal->wants(Against::window)) {
    const std::int64_t window = std::exchange(twin.shape.shape.window_left, -1) + 1;
    for (std::int32_t& kv_len : twin.workload.kv_lens)
      kv_len = static_cast<std::int32_t>(std::min<std::int64_t>(kv_len, window));
    twin.name = "a context as long as the window";
  } else if (job.goal->wants(Against::unshared)) {
    twin.workload.shared_prefix = 0;
    twin.workload.lens = job.goal->lens;
    twin.name = "requests that share nothing";
  } else if (job.goal->wants(Against::plain)) {
    twin.workload.outliers = 0;
    twin.name = "the same step without outliers";
  } else {
    return {};
  }
  return twin;
}

const Backend& backend_for(const Variant& variant, const BenchContext& context) {
  if (!variant.backend.empty()) return context.registry.find(variant.backend);
  if (variant.standard) return context.registry.find(standard(context));
  return chosen_for(variant.shape, variant.workload, context);
}

/// What a claim compares.
LineUp variants_of(const Job& job, Contest& contest, const BenchContext& context) {
  LineUp result{{}, Pairing::variants};
  for (const Variant& variant : job.variants) {
    if (context.options.stop()) break;
    const Setup setup{backend_for(variant, context), variant.shape, variant.workload, variant.parts,
                      variant.threads};
    result.entries.push_back(job.planned ? contest.plan_only(setup) : contest.enter(setup));
    result.entries.back().row.role = variant.role;
  }
  return result;
}

void note_ratio(Entry& entry, const Entry& base, bool speed, const std::string& of) {
  if (!entry.timed() || !base.timed()) return;
  entry.time_ratio = paired_ratio(entry.timing, base.timing);
  const std::size_t rounds = std::min(entry.timing.rounds.size(), base.timing.rounds.size());
  add_note(entry.row, fmt::format("{:.3f} x the {} of {} (median of {} rounds)",
                                  speed ? 1.0 / *entry.time_ratio : *entry.time_ratio,
                                  speed ? "speed" : "time", of, rounds));
}

}  // namespace

LineUp line_up(const Job& job, Contest& contest, const BenchContext& context) {
  if (!job.variants.empty()) return variants_of(job, contest, context);
  if (job.workload.suite == Suite::paged) return {over_pages(job, contest), Pairing::contiguous};
  LineUp result{beside_standard(job, contest, context), Pairing::none};
  if (job.workload.suite == Suite::mixed) {
    result.pairing = Pairing::last;
    result.last = "its parts";
    result.entries.push_back(parts_of(job, contest));
  } else if (const std::optional<Twin> twin = twin_of(job)) {
    result.pairing = Pairing::last;
    result.last = twin->name;
    const Backend& backend = chosen_for(twin->shape, twin->workload, context);
    result.entries.push_back(contest.enter({backend, twin->shape, twin->workload}));
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
    case Pairing::variants:
      for (std::size_t i = 1; i < entries.size(); ++i)
        if (entries[i].timed() && entries.front().timed())
          entries[i].time_ratio = paired_ratio(entries[i].timing, entries.front().timing);
      return;
    case Pairing::last:
      if (entries.back().timed() && entries.back().parts.size() > 1)
        add_note(entries.back().row, "its parts: the prompts, then the decodes");
      return note_ratio(entries.front(), entries.back(), false, line_up.last);
  }
}

}  // namespace headwise::bench
