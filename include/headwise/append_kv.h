#pragma once

#include <cstdint>

#include "headwise/kv_binding.h"

namespace headwise {

/// A KvView that is written to: no two elements of a view share memory.
struct MutableKvView {
  MutableTensorView k, v, k_scale, v_scale;

  operator KvView() const { return {.k = k, .v = v, .k_scale = k_scale, .v_scale = v_scale}; }
};

/// K and V of a step's new tokens on their way into one layer's cache. Token i of request r goes to
/// slot kv_lens[r] - q_lens[r] + i, where the step's attention then reads it; nothing else is
/// written. No two tokens may go to one slot. All pointers are on the tensors' device.
///
/// Numbers are rounded to nearest even; all backends write the same bits.
/// - f8e4m3: x / scale, in f32, saturates beyond +-448, infinities too.
/// - i8: a token's scale in a KV head is max|x| / 127, kept in cache.k_scale or v_scale, its codes
///   x / scale. Zeros have scale 0. A token that holds an infinity or a NaN has that for a scale,
///   codes 0, and reads as NaN.
/// - A NaN stays one: its bits do where the types are equal, else they become 0x7fffffff, 0x7fff or
///   0x7f.
struct AppendArgs {
  TensorView k;  ///< [tokens, kv_heads, head_dim_qk], f32, f16 or bf16; the last stride is 1
  TensorView v;  ///< [tokens, kv_heads, head_dim_v], of k's type; absent where shape.v_is_k_prefix
  MutableKvView cache;             ///< laid out as the step says
  const float* k_scale = nullptr;  ///< f8e4m3 K: as RunArgs has it; null: 1
  const float* v_scale = nullptr;  ///< f8e4m3 V: the same
  /// f8e4m3: the count of numbers that saturated is added to it; null: nobody asks.
  std::uint64_t* saturated = nullptr;
  /// CUDA, beside StepBatch::device_lengths: [requests] the row of k and v that holds a request's
  /// first new token; rows past the last one are left out. Null: where the host's q_lens put it.
  const std::int32_t* first_rows = nullptr;
  void* stream = nullptr;  ///< a cudaStream_t; unused on the CPU
};

/// Throws Error(invalid_input) that names the field and its value. Of the step, lengths, layout,
/// tables and starts are looked at. On the CPU block tables and scales are read, too; on a device a
/// token without a slot in the pool is left out.
void validate(const AttentionShape& shape, const StepBatch& step, const AppendArgs& args);

}  // namespace headwise
