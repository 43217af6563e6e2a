#include "model/rope_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/check.h"

namespace headwise {
namespace {

constexpr double kTurn = 2.0 * std::numbers::pi;

/// The pair, not a whole one, that turns `turns` times within `context` positions.
double pair_of_turns(double turns, double context, double base, int dim) {
  return dim * std::log(context / (turns * kTurn)) / (2.0 * std::log(base));
}

}  // namespace

RopeConfig plain_rope(double base, int dim) {
  RopeConfig rope{.base = base};
  for (int i = 0; i < dim / 2; ++i) rope.frequencies.push_back(std::pow(base, -2.0 * i / dim));
  return rope;
}

RopeConfig linear_rope(double base, int dim, double factor) {
  RopeConfig rope = plain_rope(base, dim);
  rope.scaling = concat("linear x", factor);
  for (double& frequency : rope.frequencies) frequency /= factor;
  return rope;
}

RopeConfig llama3_rope(double base, int dim, const Llama3Scaling& scaling) {
  RopeConfig rope = plain_rope(base, dim);
  rope.scaling = concat("llama3 x", scaling.factor, " from ", scaling.original_context);
  const double low = scaling.low_frequency_factor;
  const double high = scaling.high_frequency_factor;
  for (double& frequency : rope.frequencies) {
    const double turns = scaling.original_context * frequency / kTurn;
    const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    frequency *= kept + (1.0 - kept) / scaling.factor;
  }
  return rope;
}

RopeConfig yarn_rope(double base, int dim, const YarnScaling& scaling) {
  RopeConfig rope = plain_rope(base, dim);
  rope.scaling = concat("yarn x", scaling.factor, " from ", scaling.original_context);
  rope.magnitude = scaling.magnitude.value_or(0.1 * std::log(scaling.factor) + 1.0);
  double first = pair_of_turns(scaling.beta_fast, scaling.original_context, base, dim);
  double last = pair_of_turns(scaling.beta_slow, scaling.original_context, base, dim);
  if (scaling.whole_pairs) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, dim - 1.0);
  const double width = first == last ? 0.001 : last - first;  // as in the authors' code
  double pair = 0.0;
  for (double& frequency : rope.frequencies) {
    const double divided = std::clamp((pair++ - first) / width, 0.0, 1.0);
    frequency *= 1.0 - divided + divided / scaling.factor;
  }
  return rope;
}

RopeConfig divided_rope(RopeConfig rope, std::span<const float> factors) {
  check(factors.size() == rope.frequencies.size(), "there are ", factors.size(),
        " frequency factors for ", rope.frequencies.size(), " rotary pairs");
  for (std::size_t i = 0; i < factors.size(); ++i) {
    check(std::isfinite(factors[i]) && factors[i] > 0.0F, "frequency factor ", i,
          " is out of range: ", factors[i]);
    rope.frequencies[i] /= factors[i];
  }
  rope.scaling += rope.scaling.empty() ? "factors" : ", factors";
  return rope;
}

}  // namespace headwise
