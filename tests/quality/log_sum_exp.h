#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace headwise::quality {

/// The logarithm of the sum of e^logit, in double.
inline double log_sum_exp(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

}  // namespace headwise::quality
