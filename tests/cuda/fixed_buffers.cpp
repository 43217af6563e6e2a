#include "tests/cuda/fixed_buffers.h"

#include <algorithm>
#include <stdexcept>

namespace headwise::conformance {
namespace {

constexpr Device kGpu{DeviceType::cuda, 0};
constexpr std::byte kPoison{0xff};

void expect_poison(const cuda::DeviceBuffer& buffer, std::int64_t from) {
  std::vector<std::byte> rest(static_cast<std::size_t>(buffer.size() - from));
  if (rest.empty()) return;
  cuda::copy_to_host(rest.data(), buffer.as<std::byte>() + from, buffer.size() - from);
  if (std::ranges::any_of(rest, [](std::byte byte) { return byte != kPoison; }))
    throw std::runtime_error("wrote behind the step's rows");
}

}  // namespace

FixedBuffers::FixedBuffers(const std::vector<const Case*>& cases) : shape_(cases[0]->shape()) {
  for (const Case* c : cases) {
    Outputs outputs = own_outputs(*c);
    const StepBatch step = c->step(outputs.out, outputs.lse);
    tokens_ = std::max(tokens_, c->recipe().tokens());
    requests_ = std::max(requests_, step.requests());
    pages_ = std::max(pages_, step.tables.pool_pages);
    columns_ = std::max(columns_, step.tables.columns);
    page_size_ = step.tables.page_size;
    table_heads_ = step.tables.heads;
    out_type_ = step.out.dtype;
  }
  const auto rows = [&](int dim, DType type) {
    return cuda::DeviceBuffer(0, tokens_ * shape_.q_heads * dim * size_of(type));
  };
  const auto keys = [&](int dim) {
    return cuda::DeviceBuffer(
        0, pages_ * shape_.kv_heads * page_size_ * dim * size_of(shape_.kv_type));
  };
  q_ = rows(shape_.head_dim_qk, shape_.q_type);
  out_ = rows(shape_.head_dim_v, out_type_);
  lse_ = rows(1, DType::f32);
  table_ = cuda::DeviceBuffer(0, requests_ * table_heads_ * columns_ * 4);
  k_ = keys(shape_.head_dim_qk);
  v_ = keys(shape_.head_dim_v);
  if (shape_.sinks) sinks_ = cuda::DeviceBuffer(0, shape_.q_heads * 4);
}

/// Rows at strides that stay, with garbage wherever the step has none.
void FixedBuffers::put_tables(const StepBatch& step) {
  std::vector<std::int32_t> table(static_cast<std::size_t>(table_.size() / 4), -1);
  for (std::int64_t r = 0; r < step.requests(); ++r)
    for (int head = 0; head < table_heads_; ++head)
      std::copy_n(step.tables.pages + r * step.tables.request_stride +
                      (head > 0 ? head * step.tables.head_stride : 0),
                  step.tables.columns, table.data() + (r * table_heads_ + head) * columns_);
  cuda::copy_to_device(table_.data(), table.data(), table_.size());
}

StepBatch FixedBuffers::put(const Case& c) {
  Outputs outputs = own_outputs(c);
  StepBatch step = c.step(outputs.out, outputs.lse);
  const KvView host = c.kv();
  for (const auto& [buffer, view] : {std::pair{&q_, step.q}, {&k_, host.k}, {&v_, host.v}})
    if (extent_bytes(view) > 0) cuda::copy_to_device(buffer->data(), view.data, extent_bytes(view));
  if (shape_.sinks) cuda::copy_to_device(sinks_.data(), c.sinks().data(), sinks_.size());
  cuda::fill(out_.data(), kPoison, out_.size());
  cuda::fill(lse_.data(), kPoison, lse_.size());
  put_tables(step);

  const std::int64_t tokens = c.recipe().tokens();
  const int heads = shape_.q_heads;
  step.q = dense(static_cast<const void*>(q_.data()), shape_.q_type,
                 {tokens, heads, shape_.head_dim_qk}, kGpu);
  step.out = dense(out_.data(), out_type_, {tokens, heads, shape_.head_dim_v}, kGpu);
  step.lse = dense(lse_.data(), DType::f32, {tokens, heads}, kGpu);
  step.tables.pages = table_.as<const std::int32_t>();
  step.tables.pool_pages = pages_;
  step.tables.columns = columns_;
  step.tables.head_stride = columns_;
  step.tables.request_stride = std::int64_t{columns_} * table_heads_;
  step.tables.device = kGpu;
  return step;
}

TensorView FixedBuffers::pool(const cuda::DeviceBuffer& buffer, DType dtype, int dim) const {
  return dense(static_cast<const void*>(buffer.data()), dtype,
               {pages_, shape_.kv_heads, page_size_, dim}, kGpu);
}

KvView FixedBuffers::kv() const {
  return {.k = pool(k_, shape_.kv_type, shape_.head_dim_qk),
          .v = pool(v_, shape_.kv_type, shape_.head_dim_v)};
}

RunArgs FixedBuffers::args() const {
  RunArgs args;
  if (shape_.sinks) args.sinks = sinks_.as<const float>();
  return args;
}

void FixedBuffers::fetch(Outputs& outputs) const {
  const MutableTensorView out = outputs.out.mutable_view();
  const MutableTensorView lse = outputs.lse.mutable_view();
  const std::int64_t out_bytes = extent_bytes(out);
  const std::int64_t lse_bytes = extent_bytes(lse);
  if (out_bytes > 0) cuda::copy_to_host(out.data, out_.data(), out_bytes);
  if (lse_bytes > 0) cuda::copy_to_host(lse.data, lse_.data(), lse_bytes);
  expect_poison(out_, out_bytes);
  expect_poison(lse_, lse_bytes);
}

}  // namespace headwise::conformance
