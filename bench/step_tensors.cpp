#include "bench/step_tensors.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "bench/random_fill.h"

namespace headwise::bench {
namespace {

std::int64_t pages_of(std::int64_t tokens, int page_size) {
  return (tokens + page_size - 1) / page_size;
}

/// Pages that a request's table shares with others: whole ones.
std::int64_t shared_pages(const Workload& workload, std::size_t request, int page_size) {
  return workload.shares_prefix(request) ? workload.shared_prefix / page_size : 0;
}

std::int64_t pool_of(const Workload& workload, int page_size) {
  std::int64_t pages = 0;
  std::int64_t shared = 0;
  for (std::size_t r = 0; r < workload.kv_lens.size(); ++r) {
    const std::int64_t of_others = shared_pages(workload, r, page_size);
    pages += pages_of(workload.kv_lens[r], page_size) - of_others;
    shared = std::max(shared, of_others);
  }
  return pages + shared;
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
    return q * size_of(shape.q_type) + out * size_of(shape.out_type()) + kv_bytes(shape);
  }
  std::int64_t kv_bytes(const AttentionShape& shape) const {
    return (k + v) * size_of(shape.kv_type) + (k_scale + v_scale) * size_of(DType::f32);
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

/// The seeds of a copy's tensors follow this one.
std::uint64_t first_seed(std::uint64_t seed, std::uint64_t copy) { return seed + 16 * copy; }

std::vector<std::int64_t> all_of(std::size_t requests) {
  std::vector<std::int64_t> all(requests);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

OutlierRows outliers_of(const AttentionShape& shape, const Workload& workload) {
  return {.every = workload.outliers,
          .rows = workload.tokens() * shape.q_heads,
          .width = shape.head_dim_qk};
}

std::uint64_t seed_of_q(std::uint64_t seed, std::uint64_t copy) {
  return first_seed(seed, copy) + 1;
}

std::int64_t bytes_a_copy(const AttentionShape& shape, const Workload& workload, int page_size) {
  const std::int64_t pages = pool_of(workload, page_size);
  return Elements(shape, workload.tokens(), pages, page_size).bytes(shape);
}

std::int64_t kv_bytes_a_copy(const AttentionShape& shape, const Workload& workload, int page_size) {
  const std::int64_t pages = pool_of(workload, page_size);
  return Elements(shape, workload.tokens(), pages, page_size).kv_bytes(shape);
}

StepTensors::StepTensors(const AttentionShape& shape, const Workload& workload, int page_size,
                         int copies, std::uint64_t seed, Gpu* gpu)
    : shape_(shape),
      workload_(workload),
      page_size_(page_size),
      seed_(seed),
      gpu_(gpu),
      pool_pages_(pool_of(workload, page_size)),
      q_scale_(scales(shape, 0.75F)),
      k_scale_(scales(shape, 1.25F)),
      v_scale_(scales(shape, 0.5F)),
      copies_(static_cast<std::size_t>(copies)) {
  make_tables();
  for (int head = 0; head < shape.q_heads; ++head)
    sinks_.push_back(static_cast<float>(head % 5) - 1.0F);
  for (std::size_t i = 0; i < copies_.size(); ++i) fill(copies_[i], i);
  if (gpu_ != nullptr) place_on_gpu();
}

StepTensors::StepTensors(const StepTensors& other, int copy, std::span<const std::int64_t> requests)
    : shape_(other.shape_),
      workload_(other.workload_),
      page_size_(other.page_size_),
      seed_(other.seed_),
      columns_(other.columns_),
      pages_(other.pages_.size(), -1),
      sinks_(other.sinks_),
      q_scale_(other.q_scale_),
      k_scale_(other.k_scale_),
      v_scale_(other.v_scale_),
      copies_(1) {
  std::vector<std::int32_t> kept;  // pages of the other's pool, in the order of this one's
  std::vector<std::int32_t> place(static_cast<std::size_t>(other.pool_pages_), -1);  // in `kept`
  for (const std::int64_t r : requests) {
    const std::int64_t used = pages_of(workload_.kv_lens[static_cast<std::size_t>(r)], page_size_);
    for (std::int64_t i = 0; i < used; ++i) {
      const std::int32_t page = other.table(r)[i];
      std::int32_t& here = place[static_cast<std::size_t>(page)];
      if (here < 0) {
        here = static_cast<std::int32_t>(kept.size());
        kept.push_back(page);
      }
      pages_[static_cast<std::size_t>(r * columns_ + i)] = here;
    }
  }
  pool_pages_ = static_cast<std::int64_t>(kept.size());
  fill_pages(kept, static_cast<std::uint64_t>(copy));
}

StepTensors StepTensors::on_cpu(int copy, std::span<const std::int64_t> requests) const {
  return {*this, copy, requests};
}

StepTensors StepTensors::on_cpu(int copy) const {
  return on_cpu(copy, all_of(workload_.kv_lens.size()));
}

void StepTensors::make_tables() {
  std::vector<std::int32_t> order(static_cast<std::size_t>(pool_pages_));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed_));
  columns_ = static_cast<std::int32_t>(
      pages_of(*std::max_element(workload_.kv_lens.begin(), workload_.kv_lens.end()), page_size_));
  // What is past a request's last page must not be read: no pool has such a page.
  pages_.assign(workload_.kv_lens.size() * static_cast<std::size_t>(columns_), -1);
  // The pages that are shared are the first ones; the others follow, request after request.
  std::int64_t next = 0;
  for (std::size_t r = 0; r < workload_.kv_lens.size(); ++r)
    next = std::max(next, shared_pages(workload_, r, page_size_));
  for (std::size_t r = 0; r < workload_.kv_lens.size(); ++r) {
    const std::int64_t shared = shared_pages(workload_, r, page_size_);
    const std::int64_t own = pages_of(workload_.kv_lens[r], page_size_) - shared;
    auto row = pages_.begin() + static_cast<std::ptrdiff_t>(r) * columns_;
    row = std::copy_n(order.begin(), shared, row);
    std::copy_n(order.begin() + next, own, row);
    next += own;
    if (workload_.shared_prefix == 0) continue;
    prefix_group_.push_back(shared > 0 ? 0 : -1);
    prefix_tokens_.push_back(static_cast<std::int32_t>(shared * page_size_));
  }
}

void StepTensors::fill(Copy& copy, std::uint64_t index) {
  const Elements count(shape_, workload_.tokens(), pool_pages_, page_size_);
  fill_q(copy.q, index);
  copy.out = TensorMemory(count.out * size_of(shape_.out_type()), gpu_);
  copy.k = TensorMemory(count.k * size_of(shape_.kv_type), gpu_);
  copy.v = TensorMemory(count.v * size_of(shape_.kv_type), gpu_);
  copy.k_scale = TensorMemory(count.k_scale * size_of(DType::f32), gpu_);
  copy.v_scale = TensorMemory(count.v_scale * size_of(DType::f32), gpu_);
  copy.out.set_bytes(std::byte{0});
  const std::uint64_t first = first_seed(seed_, index);
  copy.k.fill_random(normal_table(shape_.kv_type), count.k, first + 2);
  copy.v.fill_random(normal_table(shape_.kv_type), count.v, first + 3);
  copy.k_scale.fill_random(int8_scale_table(), count.k_scale, first + 4);
  copy.v_scale.fill_random(int8_scale_table(), count.v_scale, first + 5);
}

void StepTensors::fill_q(TensorMemory& q, std::uint64_t index) {
  const OutlierRows outliers = outliers_of(shape_, workload_);
  const std::int64_t count = outliers.rows * outliers.width;
  const std::uint64_t seed = seed_of_q(seed_, index);
  q = TensorMemory(count * size_of(shape_.q_type), gpu_);
  q.fill_random(normal_table(shape_.q_type), count, seed);
  q.fill_outliers(outlier_table(shape_.q_type), outliers, seed);
}

/// What fill() puts into `pages` of the copy `index`, one after another.
void StepTensors::fill_pages(const std::vector<std::int32_t>& pages, std::uint64_t index) {
  const Elements count(shape_, workload_.tokens(), pool_pages_, page_size_);
  const std::uint64_t first = first_seed(seed_, index);
  Copy& copy = copies_.front();
  const auto make = [&](TensorMemory& memory, const RandomTable& table, std::int64_t elements,
                        std::uint64_t seed) {
    memory = TensorMemory(elements * table.element, nullptr);
    if (elements == 0) return;
    const std::int64_t each = elements / pool_pages_;
#pragma omp parallel for schedule(static)
    for (std::int64_t page = 0; page < pool_pages_; ++page)
      bench::fill_random(memory.data() + page * each * table.element, table,
                         pages[static_cast<std::size_t>(page)] * each, each, seed);
  };
  fill_q(copy.q, index);
  make(copy.k, normal_table(shape_.kv_type), count.k, first + 2);
  make(copy.v, normal_table(shape_.kv_type), count.v, first + 3);
  make(copy.k_scale, int8_scale_table(), count.k_scale, first + 4);
  make(copy.v_scale, int8_scale_table(), count.v_scale, first + 5);
}

void StepTensors::place_on_gpu() {
  const auto place = [&](const auto& values) {
    return on_gpu(*gpu_, values.data(),
                  static_cast<std::int64_t>(values.size() * sizeof(values.front())));
  };
  placed_ = {.pages = place(pages_),
             .sinks = place(sinks_),
             .q_scale = place(q_scale_),
             .k_scale = place(k_scale_),
             .v_scale = place(v_scale_)};
}

StepBatch StepTensors::step() {
  const Device device = gpu_ != nullptr ? gpu_->device() : Device{};
  StepBatch step;
  step.q = dense(static_cast<const void*>(q(0).data()), shape_.q_type,
                 {workload_.tokens(), shape_.q_heads, shape_.head_dim_qk}, device);
  step.out = dense(static_cast<void*>(copies_[0].out.data()), shape_.out_type(),
                   {workload_.tokens(), shape_.q_heads, shape_.head_dim_v}, device);
  step.q_lens = workload_.q_lens;
  step.kv_lens = workload_.kv_lens;
  step.prefix_group = prefix_group_;
  step.prefix_tokens = prefix_tokens_;
  step.tables.page_size = page_size_;
  step.tables.pool_pages = pool_pages_;
  step.tables.columns = columns_;
  step.tables.pages =
      gpu_ != nullptr ? static_cast<const std::int32_t*>(placed_.pages.get()) : pages_.data();
  step.tables.request_stride = columns_;
  step.tables.device = device;
  return step;
}

KvView StepTensors::kv(int copy) const {
  const Device device = gpu_ != nullptr ? gpu_->device() : Device{};
  const Copy& from = copies_[static_cast<std::size_t>(copy)];
  const auto cache = [&](const TensorMemory& memory, int head_dim) {
    return dense(static_cast<const void*>(memory.data()), shape_.kv_type,
                 {pool_pages_, shape_.kv_heads, page_size_, head_dim}, device);
  };
  const auto scale = [&](const TensorMemory& memory) {
    return dense(static_cast<const void*>(memory.data()), DType::f32,
                 {pool_pages_, shape_.kv_heads, page_size_}, device);
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
  const auto where = [&](const std::vector<float>& host, const std::shared_ptr<void>& device) {
    return gpu_ != nullptr ? static_cast<const float*>(device.get()) : host.data();
  };
  RunArgs args;
  args.sinks = shape_.sinks ? where(sinks_, placed_.sinks) : nullptr;
  args.q_scale = where(q_scale_, placed_.q_scale);
  args.k_scale = where(k_scale_, placed_.k_scale);
  args.v_scale = where(v_scale_, placed_.v_scale);
  args.stream = gpu_ != nullptr ? gpu_->stream() : nullptr;
  args.q = from.q.data();
  args.out = from.out.data();
  return args;
}

const std::int32_t* StepTensors::table(std::int64_t request) const {
  return pages_.data() + request * columns_;
}

void StepTensors::poison(int copy) {
  // All bits set are a NaN in F32, F16 and BF16 alike.
  copies_[static_cast<std::size_t>(copy)].out.set_bytes(std::byte{0xff});
}

const void* StepTensors::fetch_out(int copy) {
  const TensorMemory& there = out(copy);
  if (gpu_ == nullptr) return there.data();
  if (fetched_.size() != there.size()) fetched_ = Buffer(there.size());
  gpu_->copy_to_host(fetched_.data(), there.data(), there.size());
  return fetched_.data();
}

}  // namespace headwise::bench
