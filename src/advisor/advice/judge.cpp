#include "advisor/advice/judge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "advisor/time/assumed_times.h"
#include "core/check.h"

namespace headwise {
namespace {

const Gain& gain_in(const Candidate& candidate, const std::string& phase) {
  return *std::ranges::find(candidate.gains, phase, &Gain::phase);
}

std::string percent(double share) { return concat(std::lround(100.0 * share), " %"); }

/// "decode" is of TPOT.
std::string total_text(const Gain& gain) {
  const double change =
      gain.phase == "throughput" ? gain.total.ratio - 1.0 : 1.0 / gain.total.ratio - 1.0;
  const char* what = gain.phase == "prefill"  ? "TTFT"
                     : gain.phase == "decode" ? "TPOT"
                                              : "tokens a second";
  return concat(what, change < 0.0 ? " -" : " +", percent(std::abs(change)));
}

}  // namespace

const char* name_of(GuidelineVerdict verdict) {
  switch (verdict) {
    case GuidelineVerdict::follows:
      return "follows";
    case GuidelineVerdict::partly:
      return "partly";
    case GuidelineVerdict::breaks:
      return "breaks";
    case GuidelineVerdict::does_not_apply:
      break;
  }
  return "does not apply";
}

Judge::Judge(const Served& served, std::int64_t context, const DeviceTimes& times)
    : served_(served),
      context_(context),
      times_(times),
      now_(context_times(served, context, times)) {}

std::optional<Candidate> Judge::candidate(const std::string& change, const Variation& variation,
                                          const std::string& check) const {
  Variant variant = what_if(served_.model, served_.deployment, variation);
  if (!variant.why_not.empty()) return std::nullopt;
  Candidate candidate{.change = change,
                      .check = check,
                      .served = {std::move(variant.model), variant.deployment, served_.load},
                      .gains = {}};
  const ContextTimes changed = context_times(candidate.served, context_, times_);
  candidate.gains = {prefill(changed), decode(changed), throughput(changed)};
  for (Gain& gain : candidate.gains) gain.change = change;
  return candidate;
}

Candidate Judge::other_plan(const std::string& change, const Deployment& deployment,
                            const std::string& check) const {
  Candidate candidate{.change = change,
                      .check = check,
                      .served = {served_.model, deployment, served_.load},
                      .gains = {}};
  const ContextTimes changed = context_times(candidate.served, context_, times_);
  candidate.gains = {decode(changed), throughput(changed)};
  for (Gain& gain : candidate.gains) gain.change = change;
  return candidate;
}

std::optional<double> Judge::ridge() const {
  const std::optional<double> rate = product_rate(hardware(), served_.deployment.q_type);
  return rate ? std::optional(*rate / hardware().memory_bytes_per_s->value) : std::nullopt;
}

Gain Judge::prefill(const ContextTimes& changed) const {
  return {.phase = "prefill",
          .context = context_,
          .batch = served_.deployment.adp,
          .attention = speed_up(now_.prefill.at(StepPart::attention),
                                changed.prefill.at(StepPart::attention)),
          .total = speed_up(now_.prefill, changed.prefill)};
}

Gain Judge::decode(const ContextTimes& changed) const {
  return {.phase = "decode",
          .context = context_,
          .batch = served_.load.batch,
          .attention =
              speed_up(now_.decode.at(StepPart::attention), changed.decode.at(StepPart::attention)),
          .total = speed_up(now_.decode, changed.decode)};
}

Gain Judge::throughput(const ContextTimes& changed) const {
  Gain gain{.phase = "throughput",
            .context = context_,
            .batch = now_.largest_batch.requests,
            .attention = {.source = {}, .why_not = "of a step as a whole"},
            .total = speed_up(now_.decode_at_largest, changed.decode_at_largest)};
  if (gain.total)
    gain.total.ratio *= static_cast<double>(changed.largest_batch.requests) /
                        static_cast<double>(now_.largest_batch.requests);
  return gain;
}

GuidelineVerdict verdict_of(const SpeedUp& gain) {
  if (gain.ratio < kGainThatCounts) return GuidelineVerdict::follows;
  const bool is_certain = gain.ratio * (1.0 - gain.error) >= kGainThatCounts;
  return gain.ratio >= kGainThatBreaks && is_certain ? GuidelineVerdict::breaks
                                                     : GuidelineVerdict::partly;
}

void conclude(Guideline& guideline, const std::vector<Candidate>& candidates,
              const std::string& phase) {
  guideline.verdict = GuidelineVerdict::follows;
  const Candidate* best = nullptr;
  std::string why_unknown;
  for (const Candidate& candidate : candidates) {
    guideline.gains.insert(guideline.gains.end(), candidate.gains.begin(), candidate.gains.end());
    const SpeedUp& gain = gain_in(candidate, phase).total;
    if (!gain) why_unknown = gain.why_not;
    if (gain && (best == nullptr || gain.ratio > gain_in(*best, phase).total.ratio))
      best = &candidate;
  }
  if (best == nullptr && !why_unknown.empty()) {
    guideline.verdict = GuidelineVerdict::does_not_apply;
    guideline.reason += concat("; its gain cannot be judged: ", why_unknown);
  }
  if (best == nullptr) return;
  const Gain& gain = gain_in(*best, phase);
  guideline.verdict = verdict_of(gain.total);
  guideline.gain = gain_text(*best, phase);
  if (guideline.verdict != GuidelineVerdict::follows) guideline.check = best->check;
}

std::string gain_text(const Candidate& candidate, const std::string& phase) {
  const Gain& gain = gain_in(candidate, phase);
  if (!gain.total) return concat(gain.change, ": ", gain.total.why_not);
  const std::string at = concat(" at ", short_size(gain.context), ", ");
  std::string text = concat(gain.change, ": ");
  text += gain.attention ? concat("attention in ", phase, " ", short_number(gain.attention.ratio),
                                  " x as fast", at)
                         : concat("as many requests as fit", at);
  text += concat(total_text(gain), ", ", gain.total.source, " +-", percent(gain.total.error));
  const Gain& served = gain_in(candidate, "throughput");
  if (phase != "decode" || !served.total) return text;
  return concat(text, "; with as many requests as fit ", total_text(served), ", ",
                served.total.source, " +-", percent(served.total.error));
}

std::string short_number(double value) {
  char text[64];
  const int digits = std::abs(value) < 1.0 ? 2 : std::abs(value) < 10.0 ? 1 : 0;
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::vector<Guideline> judge_guidelines(const Served& served, std::int64_t context,
                                        const DeviceTimes& times) {
  const Judge judge(served, context, times);
  return {judge_group_size(judge), judge_head_dimension(judge), judge_kv_state(judge),
          judge_parallel_width(judge)};
}

}  // namespace headwise
