#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/backend.h"
#include "tests/conformance/pair_coverage.h"

namespace headwise::conformance {

/// HEADWISE_SEED, HEADWISE_CASES, HEADWISE_CASE=seed:index, and HEADWISE_SHARD=i/n: every n-th case
/// from case i on, so that n processes (0 ... n - 1) share the cases of one.
struct SuiteOptions {
  std::uint64_t seed = 1;
  std::int64_t cases = 6'000;
  std::optional<std::int64_t> only = {};
  std::int64_t shard = 0;
  std::int64_t shards = 1;

  static SuiteOptions from_environment();
};

/// What became of the cases on one backend.
struct Tally {
  std::int64_t computed = 0;
  std::map<std::string, std::int64_t> refused;  ///< by reason
  std::vector<std::string> failures;
  PairCoverage coverage;
};

/// The cases of a seed: first those that cover all pairs, then random ones.
class Suite {
 public:
  explicit Suite(const SuiteOptions& options);

  const SuiteOptions& options() const { return options_; }
  std::int64_t covering_cases() const { return static_cast<std::int64_t>(covering_.size()); }
  Spec spec(std::int64_t index) const;

  /// Runs case after case, each of another shape or batch than those before, on every backend. A
  /// broken GPU is the last case's failure and ends the run.
  void run(const std::vector<const Backend*>& backends);
  const std::vector<Tally>& tallies() const { return tallies_; }
  const PairCoverage& coverage() const { return coverage_; }  ///< of all cases
  /// The reference against the oracle, on the cases that cover all pairs and some of the others;
  /// left out where HEADWISE_BACKENDS leaves the reference out.
  const Tally& reference_tally() const { return reference_; }

 private:
  void run_one(std::int64_t index, const Spec& spec, const class Case& c,
               const std::vector<const Backend*>& backends);

  SuiteOptions options_;
  std::vector<Spec> covering_;
  std::vector<Tally> tallies_;
  PairCoverage coverage_;
  Tally reference_;
  bool stopped_ = false;
};

/// "standard: 20700 conformance cases, 0 failed; refused 12: no batch-invariant rows (12)".
std::string summary(std::string_view backend, const Tally& tally);

}  // namespace headwise::conformance
