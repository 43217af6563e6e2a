#include "engine/step_buffers.h"

#include "core/touched_memory.h"

namespace headwise {
namespace {

/// Columns first ... first + width - 1 of a matrix of f32.
MutableTensorView column_range(MutableTensorView matrix, std::int64_t first, std::int64_t width) {
  matrix.data = static_cast<float*>(matrix.data) + first;
  matrix.sizes[1] = width;
  return matrix;
}

MutableTensorView floats(const AlignedBytes& bytes, std::int64_t rows, std::int64_t width) {
  return dense(bytes.get(), DType::f32, {rows, width});
}

}  // namespace

MutableTensorView as_heads(MutableTensorView matrix, int dim) {
  matrix.rank = 3;
  matrix.sizes = {matrix.sizes[0], matrix.sizes[1] / dim, dim, 0};
  matrix.strides = {matrix.strides[0], dim, 1, 0};
  return matrix;
}

MutableTensorView row_range(MutableTensorView matrix, std::int64_t first, std::int64_t count) {
  matrix.data = static_cast<float*>(matrix.data) + first * matrix.strides[0];
  matrix.sizes[0] = count;
  return matrix;
}

StepBuffers::StepBuffers(const ModelConfig& config, std::int64_t max_tokens)
    : width_(config.width),
      q_width_(std::int64_t{config.q_heads} * config.head_dim),
      kv_width_(std::int64_t{config.kv_heads} * config.head_dim),
      ffn_width_(config.ffn_width),
      head_dim_(config.head_dim) {
  std::vector<std::span<std::byte>> areas;
  const auto bytes_for = [&](std::int64_t width, std::int64_t bytes_each) {
    const std::int64_t bytes = max_tokens * width * bytes_each;
    AlignedBytes memory = allocate_aligned(bytes);
    areas.emplace_back(memory.get(), static_cast<std::size_t>(bytes));
    return memory;
  };
  const auto floats_for = [&](std::int64_t width) { return bytes_for(width, sizeof(float)); };
  residual_ = floats_for(width_);
  normed_ = floats_for(width_);
  qkv_ = floats_for(q_width_ + 2 * kv_width_);
  q_rounded_ = bytes_for(q_width_, 2);
  attended_ = floats_for(q_width_);
  gate_up_ = floats_for(2 * ffn_width_);
  touch_for_writing(areas);
}

Activations StepBuffers::of(std::int64_t tokens) const {
  Activations a;
  a.residual = floats(residual_, tokens, width_);
  a.normed = floats(normed_, tokens, width_);
  a.qkv = floats(qkv_, tokens, q_width_ + 2 * kv_width_);
  a.q = as_heads(column_range(a.qkv, 0, q_width_), head_dim_);
  a.k = as_heads(column_range(a.qkv, q_width_, kv_width_), head_dim_);
  a.v = as_heads(column_range(a.qkv, q_width_ + kv_width_, kv_width_), head_dim_);
  a.q_rounded =
      dense(q_rounded_.get(), DType::bf16, {tokens, q_width_ / head_dim_, std::int64_t{head_dim_}});
  a.attended = floats(attended_, tokens, q_width_);
  a.gate_up = floats(gate_up_, tokens, 2 * ffn_width_);
  a.gate = column_range(a.gate_up, 0, ffn_width_);
  a.up = column_range(a.gate_up, ffn_width_, ffn_width_);
  return a;
}

}  // namespace headwise
