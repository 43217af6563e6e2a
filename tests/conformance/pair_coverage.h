#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/conformance/features.h"
#include "tests/conformance/random.h"

namespace headwise::conformance {

/// Which pairs of feature values have occurred.
class PairCoverage {
 public:
  PairCoverage();

  void add(const Spec& spec);
  std::int64_t pairs() const { return pairs_; }      ///< that can occur
  std::int64_t covered() const { return covered_; }  ///< that did
  bool complete() const { return covered_ == pairs_; }
  /// "coverage: 28 features, 9000 pairs, all covered", or how many and which one is missing.
  std::string summary() const;

  bool seen(std::size_t feature, std::uint8_t value, std::size_t other,
            std::uint8_t other_value) const;

 private:
  std::size_t slot(std::size_t feature, std::uint8_t value) const {
    return first_slot_[feature] + value;
  }

  std::vector<std::size_t> first_slot_;
  std::size_t slots_ = 0;
  std::vector<bool> seen_;  ///< [slot of the lower feature, slot of the other]
  std::int64_t pairs_ = 0;
  std::int64_t covered_ = 0;
};

/// Few specs that cover all allowed pairs: each starts from a pair not covered yet and takes, one
/// feature at a time, the value that covers the most new ones (AETG: Cohen et al. 1997).
std::vector<Spec> covering_specs(std::uint64_t seed);

/// Any allowed spec.
Spec random_spec(Rng& rng);

}  // namespace headwise::conformance
