#pragma once

#include "headwise/tensor_view.h"
#include "kv/kv_sequence.h"

namespace headwise {

/// Writes the K and V of new tokens of one layer into the sequence's pages, from slot
/// sequence.length() on, converted to the pool's type (rounded to nearest even). `k` is f32
/// [tokens, kv_heads, head_dim_qk], `v` [tokens, kv_heads, head_dim_v]; the last dimension is
/// dense. Throws Error(invalid_input) on other types or sizes, or where no room was reserved;
/// nothing is written then.
void append_kv(const KvSequence& sequence, int layer, const TensorView& k, const TensorView& v);

}  // namespace headwise
