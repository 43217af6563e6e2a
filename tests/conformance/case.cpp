#include "tests/conformance/case.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace headwise::conformance {
namespace {

std::vector<float> random_floats(std::int64_t count, double low, double high, Rng& rng) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < count; ++i)
    result.push_back(static_cast<float>(rng.uniform(low, high)));
  return result;
}

std::vector<double> scaled(const PoisonedTensor& tensor, std::int64_t offset, int count,
                           double scale) {
  std::vector<double> result;
  for (int i = 0; i < count; ++i) result.push_back(tensor.load(offset + i) * scale);
  return result;
}

}  // namespace

Case::Case(Recipe recipe) : recipe_(std::move(recipe)) {
  Rng rng(recipe_.seed);
  const auto& shape = recipe_.shape;
  if (recipe_.layout == KvLayout::paged)
    make_tables(rng);
  else
    make_starts(rng);
  if (recipe_.shared_prefix) state_prefixes();
  make_pools();
  make_scales(rng);
  fill_keys(rng);
  q_ = PoisonedTensor(shape.q_type, {recipe_.tokens(), shape.q_heads, shape.head_dim_qk},
                      recipe_.q_memory, 0, true);
  for (std::int64_t token = 0; token < recipe_.tokens(); ++token)
    for (int head = 0; head < shape.q_heads; ++head)
      q_.store_random(q_.offset_of(token, head), shape.head_dim_qk, rng, recipe_.q_spread);
}

bool Case::page_is_seen(std::size_t request, int head, int page) const {
  const std::int32_t first = page * recipe_.page_size;
  const std::int32_t end = std::min(first + recipe_.page_size, recipe_.kv_lens[request]);
  for (std::int32_t slot = first; slot < end; ++slot)
    if (recipe_.seen_by_request(request, recipe_.position_of(request, head, slot))) return true;
  return false;
}

std::int32_t* Case::table_row(std::size_t request, int head) {
  return pages_.data() + static_cast<std::int64_t>(request) * request_stride_ +
         (recipe_.table_heads > 1 ? head * head_stride_ : 0);
}

const std::int32_t* Case::table_row(std::size_t request, int head) const {
  return const_cast<Case*>(this)->table_row(request, head);
}

void Case::make_tables(Rng& rng) {
  std::int64_t used = 0;
  for (std::size_t r = 0; r < recipe_.q_lens.size(); ++r) {
    used += recipe_.pages_of(r);
    columns_ = std::max(columns_, recipe_.pages_of(r));
  }
  pool_blocks_ = used + 1;
  columns_ += static_cast<std::int32_t>(rng.below(4));
  const std::int64_t pad = recipe_.padded_tables ? 5 : 0;
  head_stride_ = columns_ + pad;
  request_stride_ = head_stride_ * recipe_.table_heads + pad;

  constexpr auto kMin = std::numeric_limits<std::int32_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int32_t>::max();
  const std::vector<std::int32_t> garbage = {-1, kMin, kMax,
                                             static_cast<std::int32_t>(pool_blocks_),
                                             static_cast<std::int32_t>(pool_blocks_ + 7)};
  pages_.resize(static_cast<std::size_t>(request_stride_ * recipe_.requests()));
  for (auto& page : pages_) page = rng.pick(garbage);
  if (!recipe_.page_pos.empty()) {
    positions_.resize(pages_.size());
    for (auto& position : positions_)
      position = rng.pick(std::vector<std::int32_t>{-1, kMin, kMax});
  }
  for (int head = 0; head < recipe_.table_heads; ++head) {
    const auto order = rng.permutation(pool_blocks_);
    std::size_t next = 0;
    for (std::size_t r = 0; r < recipe_.q_lens.size(); ++r) {
      std::int32_t* row = table_row(r, head);
      for (int k = 0; k < recipe_.pages_of(r); ++k) {
        if (!recipe_.page_pos.empty())
          positions_[static_cast<std::size_t>(row - pages_.data() + k)] =
              recipe_.page_pos[r * static_cast<std::size_t>(recipe_.table_heads) +
                               static_cast<std::size_t>(head)][static_cast<std::size_t>(k)];
        const auto page = static_cast<std::int32_t>(order[next++]);
        if (!page_is_seen(r, head, k)) continue;
        const bool share =
            recipe_.shared_prefix && r > 0 && k < recipe_.pages_of(0) && page_is_seen(0, head, k);
        row[k] = share ? table_row(0, head)[k] : page;
      }
    }
  }
}

void Case::make_starts(Rng& rng) {
  std::int64_t at = rng.below(3);
  kv_start_.resize(recipe_.kv_lens.size());
  for (const std::int64_t drawn : rng.permutation(recipe_.requests())) {
    const auto r = static_cast<std::size_t>(drawn);
    kv_start_[r] = at;
    at += recipe_.kv_lens[r] + rng.below(3);
  }
  pool_blocks_ = at;
  for (std::size_t r = 1; r < kv_start_.size(); ++r)
    if (recipe_.shared_prefix && recipe_.kv_lens[r] <= recipe_.kv_lens[0])
      kv_start_[r] = kv_start_[0];
}

/// How many of its first slots lie where the first request's do.
std::int32_t Case::shared_tokens(std::size_t request) const {
  const std::int32_t both = std::min(recipe_.kv_lens[request], recipe_.kv_lens[0]);
  if (recipe_.layout == KvLayout::packed) return kv_start_[request] == kv_start_[0] ? both : 0;
  for (int page = 0; request > 0 && page * recipe_.page_size < both; ++page)
    for (int head = 0; head < recipe_.table_heads; ++head)
      if (page_is_seen(request, head, page) && !page_is_seen(0, head, page))
        return page * recipe_.page_size;
  return both;
}

/// Requests that share about as much are a group.
void Case::state_prefixes() {
  for (std::size_t r = 0; r < recipe_.q_lens.size(); ++r) {
    prefix_tokens_.push_back(shared_tokens(r));
    prefix_group_.push_back(std::bit_width(static_cast<std::uint32_t>(prefix_tokens_[r])) - 1);
  }
}

void Case::make_pools() {
  const auto& shape = recipe_.shape;
  const bool paged = recipe_.layout == KvLayout::paged;
  const auto pool = [&](int dim, Memory memory, std::int64_t row_tail) {
    const std::int64_t page = recipe_.page_size;
    return paged ? PoisonedTensor(shape.kv_type, {pool_blocks_, shape.kv_heads, page, dim}, memory,
                                  row_tail, true)
                 : PoisonedTensor(shape.kv_type, {pool_blocks_, shape.kv_heads, dim}, memory,
                                  row_tail, true);
  };
  const auto scales = [&](Memory memory) {
    return paged ? PoisonedTensor(DType::f32, {pool_blocks_, shape.kv_heads, recipe_.page_size},
                                  memory, 0, true)
                 : PoisonedTensor(DType::f32, {pool_blocks_, shape.kv_heads}, memory, 0, true);
  };
  k_ = pool(shape.head_dim_qk, recipe_.k_memory, recipe_.v_beside_k ? shape.head_dim_v : 0);
  if (!shape.v_is_k_prefix && !recipe_.v_beside_k) v_ = pool(shape.head_dim_v, recipe_.v_memory, 0);
  if (shape.kv_type != DType::i8) return;
  k_scale_ = scales(recipe_.k_memory);
  if (!shape.v_is_k_prefix) v_scale_ = scales(recipe_.v_memory);
}

void Case::make_scales(Rng& rng) {
  const auto& shape = recipe_.shape;
  if (shape.sinks) sinks_ = random_floats(shape.q_heads, recipe_.sink_low, recipe_.sink_high, rng);
  if (!recipe_.with_scales) return;
  const int count = shape.fp8_scale == ScaleGranularity::kv_head ? shape.kv_heads : 1;
  if (shape.q_type == DType::f8e4m3) q_scales_ = random_floats(count, 0.4, 1.3, rng);
  if (shape.kv_type != DType::f8e4m3) return;
  k_scales_ = random_floats(count, 0.2, 0.9, rng);
  v_scales_ = random_floats(count, 1.1, 3.0, rng);
}

Case::Place Case::place_of(std::size_t request, int head, std::int32_t slot) const {
  if (recipe_.layout == KvLayout::packed) return {kv_start_[request] + slot, 0};
  return {table_row(request, head)[slot / recipe_.page_size], slot % recipe_.page_size};
}

std::int64_t Case::offset_in(const PoisonedTensor& pool, const Place& place, int head) const {
  return pool.offset_of(place.block, head, place.inside);
}

std::int64_t Case::key_offset(std::size_t request, int head, std::int32_t slot) const {
  return offset_in(k_, place_of(request, head, slot), head);
}

std::int64_t Case::value_offset(std::size_t request, int head, std::int32_t slot) const {
  return offset_in(v_ ? v_ : k_, place_of(request, head, slot), head);
}

void Case::fill_keys(Rng& rng) {
  const auto& shape = recipe_.shape;
  filled_.resize(static_cast<std::size_t>(pool_blocks_ * shape.kv_heads * recipe_.page_size));
  for (std::size_t r = 0; r < recipe_.q_lens.size(); ++r)
    for (int head = 0; head < shape.kv_heads; ++head)
      for (std::int32_t slot = 0; slot < recipe_.kv_lens[r]; ++slot) {
        if (!recipe_.seen_by_request(r, recipe_.position_of(r, head, slot))) continue;
        const Place place = place_of(r, head, slot);
        const double spread = 1.0 + recipe_.key_growth * slot / recipe_.kv_lens[r];
        fill_slot(place.block, head, place.inside, spread, rng);
      }
}

double Case::value_mean() const {
  // A mean of few values around 0 can be a hundred times smaller than they are, and then no product
  // of rounded probabilities is exact to the bound.
  constexpr int kFew = 64;
  return recipe_.shape.kv_heads * recipe_.shape.head_dim_v < kFew ? 3.0 : 0.0;
}

void Case::fill_slot(std::int64_t block, int head, std::int64_t inside, double spread, Rng& rng) {
  const auto& shape = recipe_.shape;
  const auto at =
      static_cast<std::size_t>((block * shape.kv_heads + head) * recipe_.page_size + inside);
  if (filled_[at]) return;
  filled_[at] = true;
  const Place place{block, inside};
  const std::int64_t key = offset_in(k_, place, head);
  k_.store_random(key, shape.head_dim_qk, rng, spread, shape.v_is_k_prefix ? value_mean() : 0.0);
  if (recipe_.v_beside_k)
    k_.store_random(key + shape.head_dim_qk, shape.head_dim_v, rng, 1.0, value_mean());
  if (v_) v_.store_random(offset_in(v_, place, head), shape.head_dim_v, rng, 1.0, value_mean());
  for (PoisonedTensor* scale : {&k_scale_, &v_scale_})
    if (*scale)
      scale->store(offset_in(*scale, place, head),
                   static_cast<float>(rng.uniform(0.01, 0.035) *
                                      (scale == &v_scale_ ? recipe_.value_scale : 1.0)));
}

void Case::store_key(std::size_t request, int head, std::int32_t slot, int element, float value) {
  k_.store(key_offset(request, head, slot) + element, value);
}

void Case::store_value(std::size_t request, int head, std::int32_t slot, int element, float value) {
  PoisonedTensor& pool = v_ ? v_ : k_;
  const int skip = recipe_.v_beside_k ? recipe_.shape.head_dim_qk : 0;
  pool.store(value_offset(request, head, slot) + skip + element, value);
}

double Case::scale_at(const PoisonedTensor& token_scales, const std::vector<float>& fp8_scales,
                      const Place& place, int head) const {
  if (token_scales) return token_scales.load(offset_in(token_scales, place, head));
  if (fp8_scales.empty()) return 1.0;
  return fp8_scales[fp8_scales.size() > 1 ? static_cast<std::size_t>(head) : 0];
}

std::vector<double> Case::query(std::int64_t token, int head) const {
  const int kv_head = head / recipe_.shape.group_size();
  return scaled(q_, q_.offset_of(token, head), recipe_.shape.head_dim_qk,
                scale_at({}, q_scales_, {}, kv_head));
}

std::vector<double> Case::key(std::size_t request, int head, std::int32_t slot) const {
  const Place place = place_of(request, head, slot);
  return scaled(k_, offset_in(k_, place, head), recipe_.shape.head_dim_qk,
                scale_at(k_scale_, k_scales_, place, head));
}

std::vector<double> Case::value(std::size_t request, int head, std::int32_t slot) const {
  const auto& shape = recipe_.shape;
  if (shape.v_is_k_prefix) {
    auto values = key(request, head, slot);
    values.resize(static_cast<std::size_t>(shape.head_dim_v));
    return values;
  }
  const Place place = place_of(request, head, slot);
  const std::int64_t skip = recipe_.v_beside_k ? shape.head_dim_qk : 0;
  const PoisonedTensor& pool = v_ ? v_ : k_;
  return scaled(pool, offset_in(pool, place, head) + skip, shape.head_dim_v,
                scale_at(v_scale_, v_scales_, place, head));
}

KvView Case::kv() const {
  KvView view{.k = k_.view(), .v = {}, .k_scale = {}, .v_scale = {}};
  if (v_) view.v = v_.view();
  if (k_scale_) view.k_scale = k_scale_.view();
  if (v_scale_) view.v_scale = v_scale_.view();
  if (!recipe_.v_beside_k) return view;
  view.v = view.k;
  view.v.sizes[static_cast<std::size_t>(view.v.rank - 1)] = recipe_.shape.head_dim_v;
  if (view.k.data != nullptr)
    view.v.data = static_cast<const std::byte*>(view.k.data) +
                  recipe_.shape.head_dim_qk * size_of(recipe_.shape.kv_type);
  return view;
}

RunArgs Case::args() const {
  const auto pointer = [](const std::vector<float>& values) {
    return values.empty() ? nullptr : values.data();
  };
  RunArgs args;
  args.sinks = pointer(sinks_);
  args.q_scale = pointer(q_scales_);
  args.k_scale = pointer(k_scales_);
  args.v_scale = pointer(v_scales_);
  return args;
}

StepBatch Case::step(PoisonedTensor& out, PoisonedTensor& lse) const {
  StepBatch step;
  step.q = q_.view();
  step.out = out.mutable_view();
  if (lse) step.lse = lse.mutable_view();
  step.q_lens = recipe_.q_lens;
  step.kv_lens = recipe_.kv_lens;
  step.q_start = recipe_.q_start;
  step.prefix_group = prefix_group_;
  step.prefix_tokens = prefix_tokens_;
  step.layout = recipe_.layout;
  if (recipe_.layout == KvLayout::packed) {
    step.kv_start = kv_start_;
    step.packed_tokens = pool_blocks_;
    return step;
  }
  step.tables.page_size = recipe_.page_size;
  step.tables.pool_pages = pool_blocks_;
  step.tables.columns = columns_;
  step.tables.heads = recipe_.table_heads;
  step.tables.pages = pages_.data();
  step.tables.positions = positions_.empty() ? nullptr : positions_.data();
  step.tables.request_stride = request_stride_;
  step.tables.head_stride = head_stride_;
  return step;
}

PoisonedTensor Case::own_out() const {
  const auto& shape = recipe_.shape;
  return PoisonedTensor(recipe_.f32_out ? DType::f32 : shape.out_type(),
                        {recipe_.tokens(), shape.q_heads, shape.head_dim_v}, recipe_.out_memory, 0,
                        true);
}

PoisonedTensor Case::own_lse() const {
  if (!recipe_.wants_lse) return {};
  return PoisonedTensor(DType::f32, {recipe_.tokens(), recipe_.shape.q_heads}, recipe_.lse_memory,
                        0, true);
}

PoisonedTensor Case::exact_out() const {
  const auto& shape = recipe_.shape;
  return PoisonedTensor(DType::f32, {recipe_.tokens(), shape.q_heads, shape.head_dim_v},
                        Memory::dense);
}

PoisonedTensor Case::exact_lse() const {
  return PoisonedTensor(DType::f32, {recipe_.tokens(), recipe_.shape.q_heads}, Memory::dense);
}

}  // namespace headwise::conformance
