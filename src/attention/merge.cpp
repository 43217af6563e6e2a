#include "headwise/merge.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/rows.h"
#include "attention/validate.h"
#include "core/check.h"

namespace headwise {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

void check_merge(std::span<const PartialResult> parts, const TensorView& out,
                 const TensorView& lse) {
  check_view(out, {.field = "out", .rank = 3, .written = true});
  check(out.dtype == DType::f32 || out.dtype == DType::f16 || out.dtype == DType::bf16,
        "out.dtype is ", name_of(out.dtype), "; it must be f32, f16 or bf16");
  check(out.device.type == DeviceType::cpu, "out.device is ", to_string(out.device),
        "; it must be cpu");
  const auto check_lse = [&](const TensorView& view, const std::string& field) {
    check_view(view,
               {.field = field, .rank = 2, .unit_last_stride = false, .written = field == "lse"});
    check_dtype(view, field, DType::f32);
    check_size(view, field, 0, out.sizes[0], "out.sizes[0]");
    check_size(view, field, 1, out.sizes[1], "out.sizes[1]");
    check(view.device == out.device, field, ".device is ", to_string(view.device), "; out is on ",
          to_string(out.device));
  };
  if (lse) check_lse(lse, "lse");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string field = concat("parts[", i, "]");
    const TensorView& part = parts[i].out;
    check_view(part, {.field = field + ".out", .rank = 3});
    check_dtype(part, field + ".out", DType::f32);
    for (int dimension = 0; dimension < 3; ++dimension)
      check_size(part, field + ".out", dimension, out.sizes[dimension], "out's");
    check(part.device == out.device, field, ".out.device is ", to_string(part.device),
          "; out is on ", to_string(out.device));
    check_lse(parts[i].lse, field + ".lse");
  }
}

float lse_at(const TensorView& lse, std::int64_t token, std::int64_t head) {
  return static_cast<const float*>(lse.data)[token * lse.strides[0] + head * lse.strides[1]];
}

/// exp(lse) of everything, relative to exp(top).
struct Weights {
  float top = kNothing;
  float total = 0.0F;

  void raise(float lse) { top = lse > top || std::isnan(lse) ? lse : top; }
  void add(float lse) { total += std::exp(lse - top); }
};

/// One element of the merged row: parts in the order given, starting from the first that is not
/// empty, so that a lone part keeps its bits, the sign of zero included.
float merged(std::span<const PartialResult> parts, std::int64_t token, std::int64_t head,
             std::int64_t element, const Weights& weights) {
  float sum = 0.0F;
  bool first = true;
  for (const PartialResult& part : parts) {
    const float lse = lse_at(part.lse, token, head);
    if (lse == kNothing) continue;
    const auto& strides = part.out.strides;
    const float value =
        static_cast<const float*>(part.out.data)[token * strides[0] + head * strides[1] + element];
    const float weighted = std::exp(lse - weights.top) * value;
    sum = first ? weighted : sum + weighted;
    first = false;
  }
  return first ? 0.0F : sum / weights.total;
}

}  // namespace

void merge(std::span<const PartialResult> parts, const float* sinks, const MutableTensorView& out,
           const MutableTensorView& lse) {
  check_merge(parts, out, lse);
  for (std::int64_t token = 0; token < out.sizes[0]; ++token) {
    for (std::int64_t head = 0; head < out.sizes[1]; ++head) {
      const float sink = sinks != nullptr ? sinks[head] : kNothing;
      Weights weights;
      for (const PartialResult& part : parts) weights.raise(lse_at(part.lse, token, head));
      if (!std::isnan(weights.top)) weights.raise(sink);
      if (weights.top != kNothing) {
        for (const PartialResult& part : parts) weights.add(lse_at(part.lse, token, head));
        weights.add(sink);
      }
      const std::int64_t row = token * out.strides[0] + head * out.strides[1];
      for (std::int64_t i = 0; i < out.sizes[2]; ++i) {
        const float value = merged(parts, token, head, i, weights);
        store_row(&value, 1, out.data, out.dtype, row + i);
      }
      if (lse)
        static_cast<float*>(lse.data)[token * lse.strides[0] + head * lse.strides[1]] =
            weights.top == kNothing ? kNothing : weights.top + std::log(weights.total);
    }
  }
}

}  // namespace headwise
