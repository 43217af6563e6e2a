#include "advisor/roofline.h"

#include <algorithm>

#include "headwise/dtype.h"

namespace headwise {
namespace {

/// The sum over i in [0, count) of min(max(first + i, 0), top).
std::int64_t sum_of_clamped(std::int64_t first, std::int64_t count, std::int64_t top) {
  const std::int64_t end = first + count;
  const std::int64_t low = std::clamp<std::int64_t>(first, 0, top);
  const std::int64_t high = std::clamp<std::int64_t>(end, 0, top);
  const std::int64_t ramp = (high * (high - 1) - low * (low - 1)) / 2;
  const std::int64_t saturated = std::max<std::int64_t>(0, end - std::max(first, top));
  return ramp + saturated * top;
}

std::int64_t first_position(const RequestLengths& lengths) {
  return lengths.q_start.value_or(lengths.kv_len - lengths.q_len);
}

/// Keys with a slot before the end of the window of a row at p: p + right + 1, or all of them.
std::int64_t keys_before_end(const AttentionShape& shape, std::int64_t p, std::int64_t kv_len) {
  if (shape.window_right < 0) return kv_len;
  return std::clamp<std::int64_t>(p + shape.window_right + 1, 0, kv_len);
}

std::int64_t keys_before_start(const AttentionShape& shape, std::int64_t p, std::int64_t kv_len) {
  if (shape.window_left < 0) return 0;
  return std::clamp<std::int64_t>(p - shape.window_left, 0, kv_len);
}

/// Bytes of one token's key and value in one KV head.
double kv_bytes(const AttentionShape& shape) {
  constexpr double kScaleBytes = 4.0;
  const double scale = shape.kv_type == DType::i8 ? kScaleBytes : 0.0;
  const auto element = static_cast<double>(size_of(shape.kv_type));
  const double key = shape.head_dim_qk * element + scale;
  const double value = shape.v_is_k_prefix ? 0.0 : shape.head_dim_v * element + scale;
  return key + value;
}

}  // namespace

std::int64_t visible_pairs(const AttentionShape& shape, const RequestLengths& lengths) {
  const std::int64_t p = first_position(lengths);
  const std::int64_t kv_len = lengths.kv_len;
  const std::int64_t ends = shape.window_right < 0
                                ? lengths.q_len * kv_len
                                : sum_of_clamped(p + shape.window_right + 1, lengths.q_len, kv_len);
  const std::int64_t starts =
      shape.window_left < 0 ? 0 : sum_of_clamped(p - shape.window_left, lengths.q_len, kv_len);
  return ends - starts;
}

std::int64_t visible_keys(const AttentionShape& shape, const RequestLengths& lengths) {
  if (lengths.q_len == 0) return 0;
  const std::int64_t first = first_position(lengths);
  const std::int64_t last = first + lengths.q_len - 1;
  return keys_before_end(shape, last, lengths.kv_len) -
         keys_before_start(shape, first, lengths.kv_len);
}

AttentionWork attention_work(const AttentionShape& shape,
                             std::span<const RequestLengths> requests) {
  const double flops_a_pair = 2.0 * shape.q_heads * (shape.head_dim_qk + shape.head_dim_v);
  const double q_bytes =
      static_cast<double>(shape.q_heads) * shape.head_dim_qk * size_of(shape.q_type);
  const double out_bytes =
      static_cast<double>(shape.q_heads) * shape.head_dim_v * size_of(shape.out_type());
  AttentionWork work;
  for (const RequestLengths& request : requests) {
    const auto keys = static_cast<double>(visible_keys(shape, request));
    const auto tokens = static_cast<double>(request.q_len);
    work.flops += flops_a_pair * static_cast<double>(visible_pairs(shape, request));
    work.read_bytes += tokens * q_bytes + keys * shape.kv_heads * kv_bytes(shape);
    work.written_bytes += tokens * out_bytes;
  }
  return work;
}

const ProductRate& HardwareLimits::products(DType q_type) const {
  switch (q_type) {
    case DType::f16:
      return f16;
    case DType::bf16:
      return bf16;
    case DType::f8e4m3:
    case DType::i8:
      return f8e4m3;
    case DType::f32:
      break;
  }
  return f32;
}

const char* name_of(Limit limit) { return limit == Limit::compute ? "compute" : "bandwidth"; }

TimeBound time_bound(const AttentionWork& work, double flops_per_s, double bytes_per_s) {
  return {.compute_s = work.flops / flops_per_s, .bandwidth_s = work.bytes() / bytes_per_s};
}

LimitFraction limit_fraction(const AttentionWork& work, const HardwareLimits& limits, DType q_type,
                             double seconds) {
  const ProductRate& rate = limits.products(q_type);
  const TimeBound bound = time_bound(work, rate.measured, limits.read_bytes_per_s);
  LimitFraction fraction{.limit = bound.limit(), .of_measured = bound.seconds() / seconds};
  if (fraction.limit == Limit::compute && rate.peak)
    fraction.of_peak = work.flops / *rate.peak / seconds;
  if (fraction.limit == Limit::bandwidth && limits.peak_read_bytes_per_s)
    fraction.of_peak = work.bytes() / *limits.peak_read_bytes_per_s / seconds;
  return fraction;
}

}  // namespace headwise
