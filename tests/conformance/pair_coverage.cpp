#include "tests/conformance/pair_coverage.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace headwise::conformance {
namespace {

std::uint8_t count_of(std::size_t feature) {
  return static_cast<std::uint8_t>(info_of(feature).values.size());
}

template <class Visit>
void for_each_pair(const Visit& visit) {
  for (std::size_t i = 0; i < kFeatures; ++i)
    for (std::size_t j = i + 1; j < kFeatures; ++j)
      for (std::uint8_t a = 0; a < count_of(i); ++a)
        for (std::uint8_t b = 0; b < count_of(j); ++b)
          if (compatible(i, a, j, b)) visit(i, a, j, b);
}

/// A spec in the making: features are set one after another.
struct Draft {
  Spec spec;
  std::vector<std::size_t> set;

  bool fits(std::size_t feature, std::uint8_t value) const {
    for (const std::size_t other : set)
      if (!compatible(feature, value, other, spec.value[other])) return false;
    return true;
  }
  int gain(const PairCoverage& coverage, std::size_t feature, std::uint8_t value) const {
    int fresh = 0;
    for (const std::size_t other : set)
      fresh += coverage.seen(feature, value, other, spec.value[other]) ? 0 : 1;
    return fresh;
  }
  void take(std::size_t feature, std::uint8_t value) {
    spec.value[feature] = value;
    set.push_back(feature);
  }
};

/// The value of `feature` that fits and covers the most; ties are drawn.
std::optional<std::uint8_t> best_value(const Draft& draft, const PairCoverage& coverage,
                                       std::size_t feature, Rng& rng) {
  std::optional<std::uint8_t> best;
  int best_gain = -1;
  int ties = 0;
  for (std::uint8_t value = 0; value < count_of(feature); ++value) {
    if (!draft.fits(feature, value)) continue;
    const int gain = draft.gain(coverage, feature, value);
    ties = gain > best_gain ? 1 : (gain == best_gain ? ties + 1 : ties);
    if (gain > best_gain || (gain == best_gain && rng.chance(ties))) best = value;
    best_gain = std::max(best_gain, gain);
  }
  return best;
}

std::optional<Spec> complete(Draft draft, const PairCoverage& coverage, Rng& rng) {
  for (const std::int64_t drawn : rng.permutation(kFeatures)) {
    const auto feature = static_cast<std::size_t>(drawn);
    if (std::find(draft.set.begin(), draft.set.end(), feature) != draft.set.end()) continue;
    const auto value = best_value(draft, coverage, feature, rng);
    if (!value) return std::nullopt;
    draft.take(feature, *value);
  }
  return draft.spec;
}

}  // namespace

PairCoverage::PairCoverage() {
  for (std::size_t i = 0; i < kFeatures; ++i) {
    first_slot_.push_back(slots_);
    slots_ += info_of(i).values.size();
  }
  seen_.resize(slots_ * slots_);
  for_each_pair([this](auto...) { ++pairs_; });
}

bool PairCoverage::seen(std::size_t feature, std::uint8_t value, std::size_t other,
                        std::uint8_t other_value) const {
  if (feature > other) return seen(other, other_value, feature, value);
  return seen_[slot(feature, value) * slots_ + slot(other, other_value)];
}

void PairCoverage::add(const Spec& spec) {
  for (std::size_t i = 0; i < kFeatures; ++i)
    for (std::size_t j = i + 1; j < kFeatures; ++j) {
      const std::size_t at = slot(i, spec.value[i]) * slots_ + slot(j, spec.value[j]);
      if (!seen_[at]) ++covered_;
      seen_[at] = true;
    }
}

std::string PairCoverage::summary() const {
  std::string text = "coverage: " + std::to_string(static_cast<std::size_t>(kFeatures)) +
                     " features, " + std::to_string(pairs_) + " pairs, ";
  if (complete()) return text + "all covered";
  text += std::to_string(covered_) + " covered; the first that is not: ";
  bool named = false;
  for_each_pair([&](std::size_t i, std::uint8_t a, std::size_t j, std::uint8_t b) {
    if (named || seen(i, a, j, b)) return;
    named = true;
    for (const auto& [feature, value] : {std::pair{i, a}, std::pair{j, b}})
      text.append(info_of(feature).name).append("=").append(info_of(feature).values[value]) += ' ';
  });
  return text;
}

std::vector<Spec> covering_specs(std::uint64_t seed) {
  Rng rng(seed, 0x70616972);
  PairCoverage coverage;
  std::vector<Spec> specs;
  for_each_pair([&](std::size_t i, std::uint8_t a, std::size_t j, std::uint8_t b) {
    if (coverage.seen(i, a, j, b)) return;
    Draft draft;
    draft.take(i, a);
    draft.take(j, b);
    const auto spec = complete(draft, coverage, rng);
    if (!spec) throw std::logic_error("a pair of feature values that no case can hold");
    specs.push_back(*spec);
    coverage.add(*spec);
  });
  return specs;
}

Spec random_spec(Rng& rng) {
  for (;;) {
    Draft draft;
    for (std::size_t i = 0; i < kFeatures; ++i)
      draft.take(i, static_cast<std::uint8_t>(rng.below(count_of(i))));
    if (allowed(draft.spec)) return draft.spec;
  }
}

}  // namespace headwise::conformance
