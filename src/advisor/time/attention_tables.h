#pragma once

#include "advisor/device/efficiency.h"
#include "advisor/time/calibrated_times.h"
#include "advisor/time/operators.h"

namespace headwise {

/// Core attention from calibrations: the very shape where it was measured, else by rules, each of
/// which says "extrapolated" and widens the error (docs/codesign.md has what they rest on):
///   heads      a KV heads of a group are a requests of one KV head: the batch is scaled
///              of MLA by the measured counts on either side, else by heads
///   group      prefill goes by query heads, decode by KV heads
///   dimension  by the sum of key's and value's
///   window     decode is full attention over the window; prefill by pairs and window_keys a row
///   chunk      requests of their own: exact
///   prefix     prefill of the whole, by pairs; at least a decode over the whole
/// Where steps behind prefixes were measured, a prefill is its steps, one behind the other: no
/// rule. What no rule reaches is unknown, with the reason. Linear attention and sparse indexers
/// are.
class AttentionTables {
 public:
  /// Both outlive it.
  AttentionTables(const CalibratedTimes& times, const Efficiencies& efficiencies)
      : times_(times), efficiencies_(efficiencies) {}

  Estimate time(const CoreAttention& attention) const;

 private:
  Estimate softmax(const SoftmaxAttention& shape, const CoreAttention& core) const;
  Estimate in_steps(const SoftmaxAttention& shape, const CoreAttention& core) const;
  Estimate chunked(const SoftmaxAttention& shape, const CoreAttention& core) const;
  Estimate windowed(const SoftmaxAttention& shape, const CoreAttention& core) const;
  Estimate appended(const SoftmaxAttention& shape, const CoreAttention& core) const;
  Estimate decoded(const SoftmaxAttention& shape, const CoreAttention& core) const;
  /// [batch, length] of `query`, for the shape or its nearest; `window` 0 is none.
  Estimate table(bool is_prefill, const SoftmaxAttention& shape, std::int64_t window,
                 const CoreAttention& core, double length) const;
  Estimate nearest(bool is_prefill, const SoftmaxAttention& shape, const AxisValues& wanted,
                   const CoreAttention& core) const;

  Estimate latent(const LatentAttention& shape, const CoreAttention& core) const;
  Estimate latent_table(bool is_prefill, const LatentAttention& shape, const CoreAttention& core,
                        double batch, double length) const;

  const CalibratedTimes& times_;
  const Efficiencies& efficiencies_;
};

}  // namespace headwise
