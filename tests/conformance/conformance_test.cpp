// Every backend on random cases, judged by the reference. A failure prints
// HEADWISE_CASE=seed:index, which runs that case alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "cpu/tiled/tiled_backends.h"
#include "tests/conformance/backend_choice.h"
#include "tests/conformance/recipe.h"
#include "tests/conformance/suite.h"

namespace headwise::conformance {
namespace {

std::vector<const Backend*> judged_backends() {
  std::vector<const Backend*> result;
  for (const Backend* backend : chosen_backends()) {
    if (backend->name() != "reference") result.push_back(backend);
    if (backend->name() == "cpu-avx512bf16") result.push_back(&avx512bf16_with_dot_products());
  }
  return result;
}

void report(std::string_view backend, const Tally& tally) {
  std::printf("%s\n  computed %s\n", summary(backend, tally).c_str(),
              tally.coverage.summary().c_str());
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(tally.failures.size(), kShown); ++i)
    ADD_FAILURE() << tally.failures[i];
  EXPECT_EQ(tally.failures.size(), 0U) << backend;
}

TEST(Conformance, EveryBackendMeetsTheBounds) {
  const auto backends = judged_backends();
  Suite suite(SuiteOptions::from_environment());
  std::printf("HEADWISE_SEED=%llu\n", static_cast<unsigned long long>(suite.options().seed));
  suite.run(backends);

  const bool whole = !suite.options().only && suite.options().cases >= suite.covering_cases();
  std::printf("%s\n", suite.coverage().summary().c_str());
  EXPECT_TRUE(suite.coverage().complete() || !whole) << suite.coverage().summary();
  std::int64_t computed = 0;
  for (std::size_t i = 0; i < backends.size(); ++i) {
    computed += suite.tallies()[i].computed;
    report(backends[i]->name(), suite.tallies()[i]);
  }
  EXPECT_GT(computed, 0);
  if (suite.reference_tally().computed > 0)
    report("reference, by the oracle", suite.reference_tally());
}

TEST(Conformance, ASpecDeterminesItsCase) {
  const Suite suite({.seed = 5, .cases = 0});
  for (const std::int64_t index : {std::int64_t{3}, suite.covering_cases() + 9}) {
    Rng a(5, static_cast<std::uint64_t>(index));
    Rng b(5, static_cast<std::uint64_t>(index));
    EXPECT_EQ(to_string(make_recipe(suite.spec(index), a)),
              to_string(make_recipe(suite.spec(index), b)));
  }
}

}  // namespace
}  // namespace headwise::conformance
