#include "tests/conformance/suite.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

#include "headwise/error.h"
#include "headwise/registry.h"
#include "tests/conformance/backend_choice.h"
#include "tests/conformance/oracle.h"
#include "tests/conformance/runner.h"

namespace headwise::conformance {
namespace {

/// Plans twice and runs thrice every so many cases: same inputs, same plan, same bits.
constexpr std::int64_t kRepeatEvery = 16;

/// The oracle is slow: it computes the covering cases and one of so many others.
constexpr std::int64_t kOracleEvery = 8;

/// Random cases ask for batch invariance so often; those that cover the pairs never do, because a
/// backend that has none would refuse them.
constexpr int kInvariantOneIn = 16;

/// Random cases run on several threads so often: on a busy machine they wait for each other.
constexpr int kThreadedOneIn = 8;

std::optional<std::int64_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::stoll(text);
}

/// A plan that is refused for what explain() does not see: strides and alignment.
struct Refusal {
  std::string why_not;
};

std::unique_ptr<PlannedRun> planned_run(const Backend& backend, const Case& c, Outputs& outputs) {
  try {
    return std::make_unique<PlannedRun>(backend, c, outputs);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_possible) throw Refusal{error.what()};
    throw;
  }
}

std::string judge(const Backend& backend, const Case& c, const Outputs& exact, bool repeat) {
  Outputs got = own_outputs(c);
  try {
    (*planned_run(backend, c, got))();
    std::string fault = fault_in(c, exact, got);
    if (!fault.empty() || !repeat) return fault;
    Outputs again = own_outputs(c);
    PlannedRun fresh(backend, c, again);
    for (int i = 0; i < 2; ++i) {
      fresh();
      fault = difference(got, again);
      if (!fault.empty()) return "run again: " + fault;
    }
    return {};
  } catch (const DeviceFault&) {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

SuiteOptions SuiteOptions::from_environment() {
  SuiteOptions options;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  options.cases = 1'500;
#endif
  options.seed = static_cast<std::uint64_t>(
      number_in("HEADWISE_SEED").value_or(static_cast<std::int64_t>(options.seed)));
  options.cases = number_in("HEADWISE_CASES").value_or(options.cases);
  if (const char* one = std::getenv("HEADWISE_CASE"); one != nullptr && *one != '\0') {
    unsigned long long seed = 0;
    long long index = 0;
    if (std::sscanf(one, "%llu:%lld", &seed, &index) != 2)
      throw std::runtime_error("HEADWISE_CASE is not seed:index");
    options.seed = seed;
    options.only = index;
  }
  if (const char* shard = std::getenv("HEADWISE_SHARD"); shard != nullptr && *shard != '\0') {
    long long index = 0;
    long long count = 0;
    if (std::sscanf(shard, "%lld/%lld", &index, &count) != 2 || index < 0 || index >= count)
      throw std::runtime_error("HEADWISE_SHARD is not i/n with 0 <= i < n");
    options.shard = index;
    options.shards = count;
  }
  return options;
}

Suite::Suite(const SuiteOptions& options)
    : options_(options), covering_(covering_specs(options.seed)) {}

Spec Suite::spec(std::int64_t index) const {
  if (index < covering_cases()) return covering_[static_cast<std::size_t>(index)];
  Rng rng(options_.seed, static_cast<std::uint64_t>(index));
  return random_spec(rng);
}

void Suite::run(const std::vector<const Backend*>& backends) {
  tallies_ = std::vector<Tally>(backends.size());
  std::unordered_set<std::string> known;
  const std::int64_t first = options_.only.value_or(0);
  std::int64_t left = options_.only ? 1 : options_.cases;
  for (std::int64_t index = first; left > 0 && !stopped_; ++index) {
    const Spec one = spec(index);
    Rng rng(options_.seed, ~static_cast<std::uint64_t>(index));
    Recipe recipe = make_recipe(one, rng);
    if (index >= covering_cases()) {
      recipe.options.batch_invariant = rng.chance(kInvariantOneIn);
      if (!rng.chance(kThreadedOneIn)) recipe.options.threads = 1;
    }
    const std::string text = to_string(recipe);
    if (!known.insert(text).second) continue;
    if (options_.only) std::printf("%s\n%s\n", to_string(one).c_str(), text.c_str());
    coverage_.add(one);
    --left;
    if (index % options_.shards == options_.shard || options_.only)
      run_one(index, one, Case(std::move(recipe)), backends);
  }
}

void Suite::run_one(std::int64_t index, const Spec& one, const Case& c,
                    const std::vector<const Backend*>& backends) {
  const auto record = [&](Tally& tally, std::string_view name, const std::string& fault) {
    ++tally.computed;
    tally.coverage.add(one);
    if (fault.empty()) return;
    std::ostringstream text;
    text << "HEADWISE_CASE=" << options_.seed << ':' << index << ' ' << name << ": " << fault
         << "\n  " << to_string(one) << "\n  " << to_string(c.recipe());
    tally.failures.push_back(std::move(text).str());
  };
  const Backend& reference = Registry::builtin().find("reference");
  Outputs exact = exact_outputs(c);
  try {
    conformance::run(reference, c, exact);
  } catch (const std::exception& error) {
    return record(reference_, "reference", error.what());
  }
  const bool by_oracle = index < covering_cases() || index % kOracleEvery == 0;
  if (by_oracle && is_chosen(reference)) {
    const std::string fault = fault_in_reference(c, exact);
    record(reference_, "reference", fault.empty() ? judge(reference, c, exact, false) : fault);
  }
  for (std::size_t i = 0; i < backends.size() && !stopped_; ++i) {
    const Support support = explain(*backends[i], c);
    if (!support) {
      ++tallies_[i].refused[support.why_not];
      continue;
    }
    std::string fault;
    try {
      fault = judge(*backends[i], c, exact, index % kRepeatEvery == 0);
    } catch (const Refusal& refusal) {
      ++tallies_[i].refused[refusal.why_not];
      continue;
    } catch (const DeviceFault& broken) {
      fault = std::string("the GPU failed, and no later case can run: ") + broken.what();
      stopped_ = true;
    }
    record(tallies_[i], backends[i]->name(), fault);
  }
}

std::string summary(std::string_view backend, const Tally& tally) {
  std::int64_t refused = 0;
  std::string reasons;
  for (const auto& [reason, count] : tally.refused) {
    refused += count;
    reasons += (reasons.empty() ? ": " : ", ") + reason + " (" + std::to_string(count) + ")";
  }
  return std::string(backend) + ": " + std::to_string(tally.computed) + " conformance cases, " +
         std::to_string(tally.failures.size()) + " failed; refused " + std::to_string(refused) +
         reasons;
}

}  // namespace headwise::conformance
