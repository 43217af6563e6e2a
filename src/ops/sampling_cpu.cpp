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

}  // namespace headwise
