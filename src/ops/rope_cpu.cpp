#include <cmath>

#include "core/check.h"
#include "ops/rope.h"

namespace headwise {
namespace {

void turn_head(float* head, const float* turns, int pairs) {
  for (int i = 0; i < pairs; ++i) {
    const float cosine = turns[2 * i];
    const float sine = turns[2 * i + 1];
    const float a = head[2 * i];
    const float b = head[2 * i + 1];
    head[2 * i] = a * cosine - b * sine;
    head[2 * i + 1] = a * sine + b * cosine;
  }
}

}  // namespace

RopeTable::RopeTable(int dims, double base) {
  check(dims > 0 && dims % 2 == 0, "rotary dimensions must be even and above 0, are ", dims);
  check(std::isfinite(base) && base > 0.0, "rotary base must be above 0, is ", base);
  for (int i = 0; i < dims; i += 2) frequencies_.push_back(std::pow(base, -double(i) / dims));
}

void RopeTable::set_positions(std::int64_t first, std::int64_t count) {
  check(first >= 0 && count >= 0, "positions must not be negative: first ", first, ", count ",
        count);
  turns_.clear();
  for (std::int64_t position = first; position < first + count; ++position) {
    for (const double frequency : frequencies_) {
      const double angle = static_cast<double>(position) * frequency;
      turns_.push_back(static_cast<float>(std::cos(angle)));
      turns_.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  count_ = count;
}

void rope(const MutableTensorView& x, const RopeTable& table) {
  const bool heads_ok = x.rank == 3 && x.dtype == DType::f32 && x.device.type == DeviceType::cpu &&
                        x.strides[2] == 1 && x.strides[1] == x.sizes[2];
  if (!heads_ok) check(false, "x must be f32 heads on the cpu, is ", to_string(x));
  check(x.sizes[0] == table.count(), "x has ", x.sizes[0], " tokens, the table ", table.count());
  check(table.dims() <= x.sizes[2], "the table turns ", table.dims(), " elements of a head of ",
        x.sizes[2]);
#pragma omp parallel for if (x.sizes[0] > 1)
  for (std::int64_t token = 0; token < x.sizes[0]; ++token) {
    float* heads = static_cast<float*>(x.data) + token * x.strides[0];
    const float* turns = table.turns() + token * table.dims();
    for (std::int64_t h = 0; h < x.sizes[1]; ++h) {
      turn_head(heads + h * x.strides[1], turns, table.dims() / 2);
    }
  }
}

}  // namespace headwise
