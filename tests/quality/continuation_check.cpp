#include <algorithm>
#include <iterator>

#include "core/check.h"
#include "tests/quality/checks.h"

namespace headwise::quality {
namespace {

constexpr double kNearlyEqual = 0.1;  // logits

TokenId best(std::span<const float> logits) {
  return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

/// How many greedy tokens equal the reference's before the first that does not.
std::size_t equal_tokens(JudgedModel& model, const Continuation& continuation) {
  model.begin();
  TokenId token = best(model.last_logits(continuation.prompt));
  std::size_t equal = 0;
  while (token == continuation.greedy[equal] && ++equal < continuation.greedy.size())
    token = best(model.last_logits({&token, 1}));
  return equal;
}

Verdict judge(JudgedModel& model, const Continuation& continuation) {
  const std::size_t wanted = continuation.greedy.size();
  const std::size_t equal = equal_tokens(model, continuation);
  Verdict verdict{.check = concat("continuation of ", continuation.prompt.size(), " tokens"),
                  .figures = concat(equal, " of ", wanted, " tokens equal"),
                  .passed = equal == wanted};
  if (verdict.passed) return verdict;
  verdict.figures += concat(", the reference's next leads by ", continuation.lead(equal));
  verdict.passed = model.maths() == Maths::bf16 && continuation.lead(equal) <= kNearlyEqual;
  return verdict;
}

}  // namespace

std::vector<Verdict> check_continuations(JudgedModel& model, const Golden& golden,
                                         std::int64_t longest) {
  std::vector<Verdict> verdicts;
  for (const Continuation& continuation : golden.continuations)
    if (std::ssize(continuation.prompt) <= longest) verdicts.push_back(judge(model, continuation));
  return verdicts;
}

}  // namespace headwise::quality
