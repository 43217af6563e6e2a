#include "bench/step_tensors.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "bench/random_fill.h"

namespace headwise::bench {
namespace {

std::int64_t pages_of(std::int64_t tokens, int page_size) {
  return (tokens + page_size - 1) / page_size;
}

std::int64_t pool_of(const std::vector<std::int32_t>& kv_lens, int page_size) {
  std::int64_t pages = 0;
  for (const std::int32_t kv_len : kv_lens) pages += pages_of(kv_len, page_size);
  return pages;
}

/// Elements of the tensors of one copy.
struct Elements {
  std::int64_t q, out, k, v, k_scale, v_scale;

  Elements(const AttentionShape& shape, std::int64_t tokens, std::int64_t pages, int page_size) {
    const std::int64_t slots = pages * page_size * shape.kv_heads;
    const bool scaled = shape.kv_type == DType::i8;
    q = tokens * shape.q_heads * shape.head_dim_qk;
    out = tokens * shape.q_heads * shape.head_dim_v;
    k = slots * shape.head_dim_qk;
    v = shape.v_is_k_prefix ? 0 : slots * shape.head_dim_v;
    k_scale = scaled ? slots : 0;
    v_scale = scaled && !shape.v_is_k_prefix ? slots : 0;
  }

  std::int64_t bytes(const AttentionShape& shape) const {
    return q * size_of(shape.q_type) + out * size_of(shape.out_type()) +
           (k + v) * size_of(shape.kv_type) + (k_scale + v_scale) * size_of(DType::f32);
  }
};

/// Scales that differ from 1 and from one another, so that one left out shows.
std::vector<float> scales(const AttentionShape& shape, float first) {
  const bool a_head = shape.fp8_scale == ScaleGranularity::kv_head;
  std::vector<float> values(static_cast<std::size_t>(a_head ? shape.kv_heads : 1));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = first * (1.0F + 0.25F * static_cast<float>(i % 3));
  return values;
}

}  // namespace

std::int64_t bytes_a_copy(const AttentionShape& shape, const Workload& workload, int page_size) {
  const std::int64_t pages = pool_of(workload.kv_lens, page_size);
  return Elements(shape, workload.tokens(), pages, page_size).bytes(shape);
}

StepTensors::StepTensors(const AttentionShape& shape, const Workload& workload, int page_size,
                         int copies, std::uint64_t seed)
    : shape_(shape),
      q_lens_(workload.q_lens),
      kv_lens_(workload.kv_lens),
      tokens_(workload.tokens()),
      page_size_(page_size),
      pool_pages_(pool_of(workload.kv_lens, page_size)),
      q_scale_(scales(shape, 0.75F)),
      k_scale_(scales(shape, 1.25F)),
      v_scale_(scales(shape, 0.5F)),
      copies_(static_cast<std::size_t>(copies)) {
  make_tables(seed);
  for (int head = 0; head < shape.q_heads; ++head)
    sinks_.push_back(static_cast<float>(head % 5) - 1.0F);
  for (Copy& copy : copies_) fill(copy, seed);
}

void StepTensors::make_tables(std::uint64_t seed) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(pool_pages_));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  columns_ = static_cast<std::int32_t>(
      pages_of(*std::max_element(kv_lens_.begin(), kv_lens_.end()), page_size_));
  // What is past a request's last page must not be read: no pool has such a page.
  pages_.assign(kv_lens_.size() * static_cast<std::size_t>(columns_), -1);
  auto next = order.begin();
  for (std::size_t r = 0; r < kv_lens_.size(); ++r) {
    const std::int64_t used = pages_of(kv_lens_[r], page_size_);
    std::copy_n(next, used, pages_.begin() + static_cast<std::ptrdiff_t>(r) * columns_);
    next += used;
  }
}

void StepTensors::fill(Copy& copy, std::uint64_t seed) {
  const Elements count(shape_, tokens_, pool_pages_, page_size_);
  copy.q = Buffer(count.q * size_of(shape_.q_type));
  copy.out = Buffer(count.out * size_of(shape_.out_type()));
  copy.k = Buffer(count.k * size_of(shape_.kv_type));
  copy.v = Buffer(count.v * size_of(shape_.kv_type));
  copy.k_scale = Buffer(count.k_scale * size_of(DType::f32));
  copy.v_scale = Buffer(count.v_scale * size_of(DType::f32));
  std::memset(copy.out.data(), 0, static_cast<std::size_t>(copy.out.size()));
  const auto index = static_cast<std::uint64_t>(&copy - copies_.data());
  const std::uint64_t first = seed + 16 * index;
  fill_normal(copy.q, shape_.q_type, count.q, first + 1);
  fill_normal(copy.k, shape_.kv_type, count.k, first + 2);
  fill_normal(copy.v, shape_.kv_type, count.v, first + 3);
  fill_int8_scales(copy.k_scale, count.k_scale, first + 4);
  fill_int8_scales(copy.v_scale, count.v_scale, first + 5);
}

StepBatch StepTensors::step() {
  StepBatch step;
  step.q = dense(static_cast<const void*>(q(0).data()), shape_.q_type,
                 {tokens_, shape_.q_heads, shape_.head_dim_qk});
  step.out = dense(static_cast<void*>(copies_[0].out.data()), shape_.out_type(),
                   {tokens_, shape_.q_heads, shape_.head_dim_v});
  step.q_lens = q_lens_;
  step.kv_lens = kv_lens_;
  step.tables.page_size = page_size_;
  step.tables.pool_pages = pool_pages_;
  step.tables.columns = columns_;
  step.tables.pages = pages_.data();
  step.tables.request_stride = columns_;
  return step;
}

KvView StepTensors::kv(int copy) const {
  const Copy& from = copies_[static_cast<std::size_t>(copy)];
  const auto cache = [&](const Buffer& buffer, int head_dim) {
    return dense(static_cast<const void*>(buffer.data()), shape_.kv_type,
                 {pool_pages_, shape_.kv_heads, page_size_, head_dim});
  };
  const auto scale = [&](const Buffer& buffer) {
    return dense(static_cast<const void*>(buffer.data()), DType::f32,
                 {pool_pages_, shape_.kv_heads, page_size_});
  };
  KvView view;
  view.k = cache(from.k, shape_.head_dim_qk);
  if (from.v.size() > 0) view.v = cache(from.v, shape_.head_dim_v);
  if (from.k_scale.size() > 0) view.k_scale = scale(from.k_scale);
  if (from.v_scale.size() > 0) view.v_scale = scale(from.v_scale);
  return view;
}

RunArgs StepTensors::args(int copy) {
  Copy& from = copies_[static_cast<std::size_t>(copy)];
  RunArgs args;
  args.sinks = shape_.sinks ? sinks_.data() : nullptr;
  args.q_scale = q_scale_.data();
  args.k_scale = k_scale_.data();
  args.v_scale = v_scale_.data();
  args.q = from.q.data();
  args.out = from.out.data();
  return args;
}

const std::int32_t* StepTensors::table(std::int64_t request) const {
  return pages_.data() + request * columns_;
}

void StepTensors::poison(int copy) {
  Buffer& out = copies_[static_cast<std::size_t>(copy)].out;
  // All bits set are a NaN in F32, F16 and BF16 alike.
  std::memset(out.data(), 0xff, static_cast<std::size_t>(out.size()));
}

}  // namespace headwise::bench
