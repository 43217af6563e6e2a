#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "headwise/attention_shape.h"

namespace headwise {

/// One request's part of a step, in tokens; each >= 0. Slots stand at their own index.
struct RequestLengths {
  std::int64_t q_len = 0;
  std::int64_t kv_len = 0;
  std::optional<std::int64_t> q_start;  ///< position of the first new token; absent: kv_len - q_len
};

/// (query, key) pairs that the mask lets through, of one query head, exactly. A row at p sees
/// min(kv_len, p + window_right + 1) - max(0, p - window_left) keys where that is positive; for
/// causal prefill of L tokens the sum is L (L + 1) / 2, for a window of W <= L keys
/// W L - W (W - 1) / 2.
std::int64_t visible_pairs(const AttentionShape& shape, const RequestLengths& lengths);

/// Keys that at least one new token sees: what a kernel has to read of the request's cache.
std::int64_t visible_keys(const AttentionShape& shape, const RequestLengths& lengths);

/// What one layer's attention has to do, whatever the kernel.
struct AttentionWork {
  double flops = 0.0;          ///< 2 q_heads (head_dim_qk + head_dim_v) a visible pair
  double read_bytes = 0.0;     ///< q, and each visible key and value once a KV head, with i8 scales
  double written_bytes = 0.0;  ///< out

  double bytes() const { return read_bytes + written_bytes; }
};

/// The sum over `requests`.
AttentionWork attention_work(const AttentionShape& shape, std::span<const RequestLengths> requests);

/// How fast a device multiplies matrices of one type, in FLOP/s.
struct ProductRate {
  double measured = 0.0;       ///< the best matrix product
  std::optional<double> peak;  ///< of the arithmetic units; absent: unknown
};

/// What a device can do at most. Types that it has no products of hold the rate of the type that
/// such work is done in.
struct HardwareLimits {
  double read_bytes_per_s = 0.0;                ///< the best read
  std::optional<double> peak_read_bytes_per_s;  ///< by datasheet; absent: unknown
  ProductRate f32, f16, bf16, f8e4m3;

  /// For attention whose products are of `q_type`.
  const ProductRate& products(DType q_type) const;
};

enum class Limit : std::uint8_t { compute, bandwidth };
const char* name_of(Limit limit);  ///< "compute", "bandwidth"

/// The least time that `work` takes: the larger of its products' and its traffic's. Source:
/// Williams, Waterman and Patterson 2009, "Roofline".
struct TimeBound {
  double compute_s = 0.0;
  double bandwidth_s = 0.0;

  Limit limit() const { return compute_s > bandwidth_s ? Limit::compute : Limit::bandwidth; }
  double seconds() const { return compute_s > bandwidth_s ? compute_s : bandwidth_s; }
};

/// Both rates are positive.
TimeBound time_bound(const AttentionWork& work, double flops_per_s, double bytes_per_s);

/// How near `seconds` comes to the limit that binds.
struct LimitFraction {
  Limit limit = Limit::bandwidth;
  double of_measured = 0.0;       ///< of the best matrix product or the best read
  std::optional<double> of_peak;  ///< of the physical peak, where it is known
};

LimitFraction limit_fraction(const AttentionWork& work, const HardwareLimits& limits, DType q_type,
                             double seconds);

}  // namespace headwise
