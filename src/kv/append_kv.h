#pragma once

#include "headwise/backend.h"
#include "kv/kv_sequence.h"

namespace headwise {

/// Backend::append_kv of one layer's K and V of a sequence's next tokens, from slot
/// sequence.length() on. `k` is [tokens, kv_heads, head_dim_qk], `v` [tokens, kv_heads,
/// head_dim_v]; `shape` is that of the pool's layers. Throws Error as the backend does, where no
/// room was reserved, too; nothing is written then.
void append_kv(const Backend& backend, const AttentionShape& shape, const KvSequence& sequence,
               int layer, const TensorView& k, const TensorView& v);

}  // namespace headwise
