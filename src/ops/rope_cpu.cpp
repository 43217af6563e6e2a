#include <cmath>

#include "core/check.h"
#include "core/vector_clones.h"
#include "ops/heads.h"
#include "ops/rope.h"

namespace headwise {
namespace {

HEADWISE_VECTOR_CLONES
void turn_neighbours(float* head, const float* cosines, const float* sines, int pairs) {
  for (int i = 0; i < pairs; ++i) {
    const float a = head[2 * i];
    const float b = head[2 * i + 1];
    head[2 * i] = a * cosines[i] - b * sines[i];
    head[2 * i + 1] = a * sines[i] + b * cosines[i];
  }
}

HEADWISE_VECTOR_CLONES
void turn_halves(float* head, const float* cosines, const float* sines, int pairs) {
  for (int i = 0; i < pairs; ++i) {
    const float a = head[i];
    const float b = head[i + pairs];
    head[i] = a * cosines[i] - b * sines[i];
    head[i + pairs] = a * sines[i] + b * cosines[i];
  }
}

using TurnHead = void (*)(float*, const float*, const float*, int);

void turn(TurnHead turn_head, const MutableTensorView& x, const RopeTable& table) {
  const Heads heads = heads_of(x, "x");
  check(heads.tokens == table.count(), "x has ", heads.tokens, " tokens, the table ",
        table.count());
  check(table.dims() <= heads.dim, "the table turns ", table.dims(), " elements of a head of ",
        heads.dim);
  const int pairs = table.dims() / 2;
#pragma omp parallel for if (heads.tokens > 1)
  for (std::int64_t token = 0; token < heads.tokens; ++token) {
    const float* cosines = table.turns() + token * table.dims();
    for (std::int64_t h = 0; h < heads.count; ++h)
      turn_head(heads.head(token, h), cosines, cosines + pairs, pairs);
  }
}

}  // namespace

RopeTable::RopeTable(std::vector<double> frequencies, double magnitude)
    : frequencies_(std::move(frequencies)), magnitude_(magnitude) {
  check(!frequencies_.empty(), "a rotary table needs a frequency");
  for (const double frequency : frequencies_)
    check(std::isfinite(frequency), "a rotary frequency is ", frequency);
  check(std::isfinite(magnitude), "the rotary magnitude is ", magnitude);
}

void RopeTable::set_positions(std::int64_t first, std::int64_t count) {
  check(first >= 0 && count >= 0, "positions must not be negative: first ", first, ", count ",
        count);
  const std::size_t pairs = frequencies_.size();
  turns_.resize(static_cast<std::size_t>(count) * 2 * pairs);
#pragma omp parallel for if (count > 1)
  for (std::int64_t i = 0; i < count; ++i) {
    float* cosines = turns_.data() + static_cast<std::size_t>(i) * 2 * pairs;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const double angle = static_cast<double>(first + i) * frequencies_[pair];
      cosines[pair] = static_cast<float>(magnitude_ * std::cos(angle));
      cosines[pairs + pair] = static_cast<float>(magnitude_ * std::sin(angle));
    }
  }
  count_ = count;
}

void rope_neighbours(const MutableTensorView& x, const RopeTable& table) {
  turn(turn_neighbours, x, table);
}

void rope_halves(const MutableTensorView& x, const RopeTable& table) {
  turn(turn_halves, x, table);
}

}  // namespace headwise
