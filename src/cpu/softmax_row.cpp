#include "cpu/softmax_row.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/rows.h"

namespace headwise {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

/// Calls visit(begin, end) for each range of columns that the row sees.
template <class Visit>
void for_each_seen(std::span<const KeyRun> spans, const PositionRange& seen, Visit&& visit) {
  for (const KeyRun& span : spans)
    if (const KeyRun part = span.within(seen); part.count > 0)
      visit(part.slot, part.slot + part.count);
}

void to_logits(const SoftmaxRow& row, std::int64_t begin, std::int64_t end) {
  float* s = row.s;
  for (std::int64_t i = begin; i < end; ++i) s[i] *= row.scale;
  for (std::int64_t i = begin; row.k_scale != nullptr && i < end; ++i) s[i] *= row.k_scale[i];
  for (std::int64_t i = begin; row.softcap > 0.0F && i < end; ++i)
    s[i] = row.softcap * std::tanh(s[i] / row.softcap);
}

/// NaN is left out here and caught by the sum; a row of nothing but NaN and -inf needs a look of
/// its own.
float largest(const float* s, std::int64_t begin, std::int64_t end) {
  float top = kNothing;
#pragma omp simd reduction(max : top)
  for (std::int64_t i = begin; i < end; ++i) top = s[i] > top ? s[i] : top;
  return top;
}

}  // namespace

float SoftmaxRow::run(std::span<const KeyRun> spans, const PositionRange& seen) const {
  float top = sink;
  bool nan = false;
  for_each_seen(spans, seen, [&](std::int64_t begin, std::int64_t end) {
    to_logits(*this, begin, end);
    top = std::max(top, largest(s, begin, end));
  });
  if (top == kNothing)
    for_each_seen(spans, seen, [&](std::int64_t begin, std::int64_t end) {
      nan = nan || std::any_of(s + begin, s + end, [](float x) { return std::isnan(x); });
    });

  double total = std::exp(static_cast<double>(sink) - top);
  if (top == kNothing) total = nan ? std::numeric_limits<double>::quiet_NaN() : 0.0;
  for_each_seen(spans, seen, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      s[i] = top == kNothing ? 0.0F : std::exp(s[i] - top);
      total += s[i];
    }
  });

  const float inverse = total == 0.0 ? 0.0F : static_cast<float>(1.0 / total);
  std::int64_t done = 0;
  const auto write = [&](std::int64_t begin, std::int64_t end) {
    std::fill(s + done, s + begin, 0.0F);
    for (std::int64_t i = begin; i < end; ++i) s[i] *= inverse;
    for (std::int64_t i = begin; v_scale != nullptr && i < end; ++i) s[i] *= v_scale[i];
    done = end;
  };
  for_each_seen(spans, seen, write);
  std::fill(s + done, s + keys, 0.0F);
  if (keys > 0) store_row(s, static_cast<int>(keys), p, p_type, 0);
  return top == kNothing && !nan ? kNothing : static_cast<float>(top + std::log(total));
}

}  // namespace headwise
