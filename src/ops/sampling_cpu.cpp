#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "ops/sampling.h"

namespace headwise {

std::int32_t argmax(std::span<const float> logits) {
  check(!logits.empty(), "there are no logits to choose from");
  const auto nan =
      std::find_if(logits.begin(), logits.end(), [](float x) { return std::isnan(x); });
  check(nan == logits.end(), "logit ", nan - logits.begin(), " is NaN");
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

Sampler::Sampler(const SamplingOptions& options) : options_(options), generator_(options.seed) {
  check(std::isfinite(options.temperature) && options.temperature >= 0.0,
        "temperature must be a number from 0 on, is ", options.temperature);
  check(options.top_k >= 0, "top_k must not be negative, is ", options.top_k);
  check(options.top_p > 0.0 && options.top_p <= 1.0, "top_p must be above 0 and at most 1, is ",
        options.top_p);
}

std::int32_t Sampler::draw(std::span<const float> logits) {
  const std::int32_t largest = argmax(logits);
  if (options_.temperature == 0.0) return largest;
  const double top = logits[static_cast<std::size_t>(largest)];
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double weight = std::exp((logits[i] - top) / options_.temperature);
    if (weight > 0.0) candidates_.push_back({weight, static_cast<std::int32_t>(i)});
  }
  const auto heavier = [](const Candidate& a, const Candidate& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
  };
  if (options_.top_k > 0 && static_cast<std::size_t>(options_.top_k) < candidates_.size()) {
    std::nth_element(candidates_.begin(), candidates_.begin() + options_.top_k, candidates_.end(),
                     heavier);
    candidates_.resize(static_cast<std::size_t>(options_.top_k));
  }
  if (options_.top_p < 1.0) {
    std::sort(candidates_.begin(), candidates_.end(), heavier);
    keep_top_p();
  }
  double total = 0.0;
  for (const Candidate& candidate : candidates_) total += candidate.weight;
  // The generator's own numbers, not a distribution's: libraries differ in those.
  double left = total * (static_cast<double>(generator_() >> 11) * 0x1p-53);
  for (const Candidate& candidate : candidates_) {
    if (left < candidate.weight) return candidate.token;
    left -= candidate.weight;
  }
  return largest;  // where rounding left a crumb
}

/// Of candidates in order, those that come before the sum reaches top_p, and the one that does.
void Sampler::keep_top_p() {
  double total = 0.0;
  for (const Candidate& candidate : candidates_) total += candidate.weight;
  double sum = 0.0;
  std::size_t kept = 0;
  while (kept < candidates_.size() && sum < options_.top_p * total)
    sum += candidates_[kept++].weight;
  candidates_.resize(kept);
}

}  // namespace headwise
