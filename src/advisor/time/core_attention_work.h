#pragma once

#include <string>

#include "advisor/time/operators.h"

namespace headwise {

/// What the parts of a device have to do for an operator.
struct DeviceWork {
  double flops = 0.0;
  double bytes = 0.0;
  double exponentials = 0.0;
};

/// One layer's attention, all requests: products by core_attention_flops; K, V, queries and results
/// once, the expanded form's K and V in bf16; an exponential a pair and head.
DeviceWork core_attention_work(const CoreAttention& attention);

/// What a prefill of many tokens takes with a sliding window, as a part of what it takes without:
/// its pairs, and `window_keys` a row that kernels spend beside them where the window is short.
double windowed_share(const AttentionSpan& window, const NewTokens& tokens, double window_keys);

/// For people: "attention of 32 over 8 heads, 4 requests of 1 token behind 4095".
std::string describe(const CoreAttention& attention);

}  // namespace headwise
