#include "tests/conformance/append_case.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <sstream>

#include "tests/conformance/backend_choice.h"
#include "tests/conformance/placed_append.h"
#include "tests/conformance/plain_numbers.h"

namespace headwise::conformance {
namespace {

constexpr std::int32_t kGarbage[] = {-1, 2147483647, -2147483647 - 1};

/// A number as the kind of row asks for it.
double number_for(std::int64_t kind, Rng& rng) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> odd = {1e9,      -1e9,     kInfinity, -kInfinity, NAN,
                                   -NAN,     448.0,    -464.0,    465.0,      65504.0,
                                   65520.0,  -65519.0, 0.0,       -0.0,       0x1p-10,
                                   0x1.8p-9, 0x1p-14,  -0x1p-24,  0x1p-25,    0x1p-126};
  if (kind == 0 && rng.chance(5)) return rng.pick(odd);
  if (kind == 1) return rng.normal() * 0x1p-135;  // subnormal wherever there are such
  if (kind == 2) return 0.0;
  if (kind == 3) return rng.normal() * 1e9;
  if (kind == 4) return std::ldexp(rng.normal(), static_cast<int>(rng.between(-30, 20)));
  return rng.normal();
}

void fill(PoisonedTensor& tensor, Rng& rng) {
  const TensorView& view = tensor.mutable_view();
  if (!view || view.data == nullptr) return;
  const std::int64_t size = size_of(view.dtype);
  auto* data = static_cast<std::byte*>(tensor.mutable_view().data);
  const auto stride = [&](int i) { return view.sizes[i] > 1 ? view.strides[i] : 0; };
  for (std::int64_t a = 0; a < view.sizes[0]; ++a)
    for (std::int64_t b = 0; b < view.sizes[1]; ++b)
      for (std::int64_t c = 0; c < (view.rank > 2 ? view.sizes[2] : 1); ++c)
        for (std::int64_t d = 0; d < (view.rank > 3 ? view.sizes[3] : 1); ++d) {
          const std::uint64_t bits = rng.next();
          std::memcpy(data + (a * stride(0) + b * stride(1) + c * stride(2) + d * stride(3)) * size,
                      &bits, static_cast<std::size_t>(size));
        }
}

std::string difference(const PoisonedTensor& a, const PoisonedTensor& b, const char* name) {
  if (!a) return {};
  if (a.bits() != b.bits()) return std::string(name) + " differs; ";
  if (!a.gaps_untouched() || !b.gaps_untouched()) return std::string(name) + "'s gaps differ; ";
  return {};
}

}  // namespace

AppendRecipe random_append(Rng& rng) {
  AppendRecipe recipe;
  AttentionShape& shape = recipe.shape;
  shape.kv_heads = static_cast<int>(rng.between(1, 5));
  shape.q_heads = shape.kv_heads;
  shape.head_dim_qk = rng.pick(std::vector<int>{1, 8, 40, 64, 72, 128, 129, 256, 288});
  shape.head_dim_v = rng.chance(3) ? rng.pick(std::vector<int>{16, 64, 100}) : shape.head_dim_qk;
  shape.kv_type = static_cast<DType>(rng.below(5));
  shape.fp8_scale = static_cast<ScaleGranularity>(rng.below(2));
  if (rng.chance(8)) {
    shape.v_is_k_prefix = true;
    shape.head_dim_v = std::max(1, shape.head_dim_qk / 2);
  }
  recipe.new_type = static_cast<DType>(rng.below(3));
  const std::int64_t requests = rng.chance(12) ? rng.between(90, 200) : rng.between(1, 6);
  for (std::int64_t r = 0; r < requests; ++r) {
    const auto longest = requests > 10 ? 2 : 40;
    recipe.q_lens.push_back(rng.chance(4) ? 0 : static_cast<std::int32_t>(rng.below(longest)));
    const std::int64_t before = rng.chance(4) ? 0 : rng.below(requests > 10 ? 9 : 150);
    recipe.kv_lens.push_back(recipe.q_lens.back() + static_cast<std::int32_t>(before));
  }
  if (rng.chance(5)) recipe.layout = KvLayout::packed;
  recipe.page_size = rng.pick(std::vector<int>{1, 3, 16, 64});
  if (rng.chance(4)) recipe.table_heads = shape.kv_heads;
  for (Memory* memory :
       {&recipe.k_memory, &recipe.v_memory, &recipe.scale_memory, &recipe.new_memory})
    *memory = rng.chance(2) ? Memory::dense : static_cast<Memory>(rng.below(3));
  recipe.with_scales = rng.chance(2);
  recipe.seed = rng.next();
  return recipe;
}

std::string to_string(const AppendRecipe& recipe) {
  std::ostringstream text;
  text << to_string(recipe.shape) << " kv " << name_of(recipe.shape.kv_type) << " from "
       << name_of(recipe.new_type)
       << (recipe.layout == KvLayout::paged ? " page " + std::to_string(recipe.page_size)
                                            : " packed")
       << " memory " << static_cast<int>(recipe.k_memory) << static_cast<int>(recipe.v_memory)
       << static_cast<int>(recipe.scale_memory) << static_cast<int>(recipe.new_memory)
       << " table heads " << recipe.table_heads << " seed " << recipe.seed << " q/kv";
  for (std::size_t r = 0; r < recipe.q_lens.size(); ++r)
    text << ' ' << recipe.q_lens[r] << '/' << recipe.kv_lens[r];
  return text.str();
}

MutableKvView Cache::view() {
  return {.k = k.mutable_view(),
          .v = v.mutable_view(),
          .k_scale = k_scale.mutable_view(),
          .v_scale = v_scale.mutable_view()};
}

KvView Cache::view() const {
  return {.k = k.view(), .v = v.view(), .k_scale = k_scale.view(), .v_scale = v_scale.view()};
}

std::string difference(const Cache& a, const Cache& b) {
  return difference(a.k, b.k, "k") + difference(a.v, b.v, "v") +
         difference(a.k_scale, b.k_scale, "k_scale") + difference(a.v_scale, b.v_scale, "v_scale");
}

std::vector<const Backend*> appending_backends() {
  std::vector<const Backend*> able;
  for (const Backend* backend : chosen_backends()) {
    const bool absent = backend->drawback(this_machine()).starts_with("this build has no ");
    const bool no_gpu = backend->device_type() == DeviceType::cuda && this_machine().gpus.empty();
    if (!absent && !no_gpu) able.push_back(backend);
  }
  return able;
}

AppendCase::AppendCase(const AppendRecipe& recipe) : recipe_(recipe) {
  Rng rng(recipe_.seed);
  tokens_ = std::accumulate(recipe_.q_lens.begin(), recipe_.q_lens.end(), std::int64_t{0});
  make_tables(rng);
  make_scales();
  const AttentionShape& shape = recipe_.shape;
  const auto rows = [&](int dim) {
    return PoisonedTensor(recipe_.new_type, {tokens_, shape.kv_heads, dim}, recipe_.new_memory, 0,
                          !recipe_.ordinary_numbers);
  };
  k_ = rows(shape.head_dim_qk);
  fill_new(k_, rng);
  if (shape.v_is_k_prefix) return;
  v_ = rows(shape.head_dim_v);
  fill_new(v_, rng);
}

/// Entries that the append has no business with are garbage, where no attention reads them later.
void AppendCase::make_tables(Rng& rng) {
  const auto requests = static_cast<std::int64_t>(recipe_.q_lens.size());
  if (recipe_.layout == KvLayout::packed) {
    kv_start_.resize(recipe_.q_lens.size());
    for (const std::int64_t r : rng.permutation(requests)) {
      kv_start_[static_cast<std::size_t>(r)] = blocks_ + rng.below(3);
      blocks_ =
          kv_start_[static_cast<std::size_t>(r)] + recipe_.kv_lens[static_cast<std::size_t>(r)];
    }
    blocks_ += 1;
    return;
  }
  std::int64_t used = 0;
  for (const std::int32_t kv_len : recipe_.kv_lens) {
    const std::int32_t needed = (kv_len + recipe_.page_size - 1) / recipe_.page_size;
    columns_ = std::max(columns_, needed);
    used += needed * recipe_.table_heads;
  }
  columns_ += 1;
  blocks_ = used + 2;
  const std::vector<std::int64_t> order = rng.permutation(blocks_);
  pages_.resize(static_cast<std::size_t>(requests * recipe_.table_heads * columns_));
  auto next = order.begin();
  for (std::int64_t row = 0; row < requests * recipe_.table_heads; ++row) {
    const auto r = static_cast<std::size_t>(row / recipe_.table_heads);
    const std::int32_t first = (recipe_.kv_lens[r] - recipe_.q_lens[r]) / recipe_.page_size;
    const std::int32_t end = (recipe_.kv_lens[r] + recipe_.page_size - 1) / recipe_.page_size;
    for (std::int32_t k = 0; k < columns_; ++k) {
      std::int32_t& entry = pages_[static_cast<std::size_t>(row * columns_ + k)];
      entry = k < end ? static_cast<std::int32_t>(*next++) : kGarbage[k % 3];
      const bool touched = recipe_.q_lens[r] > 0 && k >= first;
      if (!touched && !recipe_.ordinary_numbers) entry = kGarbage[k % 3];
    }
  }
}

/// From numbers of their own, so that rows are the same for all types.
void AppendCase::make_scales() {
  const AttentionShape& shape = recipe_.shape;
  if (shape.kv_type != DType::f8e4m3 || !recipe_.with_scales) return;
  Rng rng(recipe_.seed + 2);
  const int count = shape.fp8_scale == ScaleGranularity::kv_head ? shape.kv_heads : 1;
  for (int i = 0; i < count; ++i) {
    k_scales_.push_back(static_cast<float>(rng.uniform(0.01, 0.05)));
    v_scales_.push_back(static_cast<float>(rng.uniform(0.02, 2.0)));
  }
}

void AppendCase::fill_new(PoisonedTensor& rows, Rng& rng) const {
  for (std::int64_t token = 0; token < tokens_; ++token)
    for (int head = 0; head < recipe_.shape.kv_heads; ++head) {
      const std::int64_t kind = recipe_.ordinary_numbers ? 9 : rng.below(9);
      for (std::int64_t d = 0; d < rows.view().sizes[2]; ++d)
        rows.store(rows.offset_of(token, head) + d, static_cast<float>(number_for(kind, rng)));
    }
}

std::vector<double> AppendCase::new_row(bool of_v, std::int64_t token, int head) const {
  const PoisonedTensor& rows = of_v ? v_ : k_;
  const std::int64_t size = size_of(recipe_.new_type);
  std::vector<double> row;
  for (std::int64_t d = 0; d < rows.view().sizes[2]; ++d) {
    std::uint32_t bits = 0;
    std::memcpy(
        &bits,
        static_cast<const std::byte*>(rows.view().data) + (rows.offset_of(token, head) + d) * size,
        static_cast<std::size_t>(size));
    row.push_back(plain_value(recipe_.new_type, bits));
  }
  return row;
}

StepBatch AppendCase::step() const {
  StepBatch step;
  step.q_lens = recipe_.q_lens;
  step.kv_lens = recipe_.kv_lens;
  step.layout = recipe_.layout;
  if (recipe_.layout == KvLayout::packed) {
    step.kv_start = kv_start_;
    step.packed_tokens = blocks_;
    return step;
  }
  step.tables = {.page_size = recipe_.page_size,
                 .pool_pages = blocks_,
                 .columns = columns_,
                 .heads = recipe_.table_heads,
                 .pages = pages_.data(),
                 .request_stride = std::int64_t{columns_} * recipe_.table_heads,
                 .head_stride = columns_};
  return step;
}

AppendArgs AppendCase::args(Cache& cache) const {
  AppendArgs args;
  args.k = k_.view();
  args.v = v_.view();
  args.cache = cache.view();
  if (!k_scales_.empty()) args.k_scale = k_scales_.data();
  if (!v_scales_.empty() && v_) args.v_scale = v_scales_.data();
  return args;
}

Cache AppendCase::cache() const {
  const AttentionShape& shape = recipe_.shape;
  const bool wild = !recipe_.ordinary_numbers;
  const bool paged = recipe_.layout == KvLayout::paged;
  Rng rng(recipe_.seed + 1);
  const auto pool = [&](int dim, Memory memory) {
    PoisonedTensor tensor =
        paged ? PoisonedTensor(shape.kv_type, {blocks_, shape.kv_heads, recipe_.page_size, dim},
                               memory, 0, wild)
              : PoisonedTensor(shape.kv_type, {blocks_, shape.kv_heads, dim}, memory, 0, wild);
    fill(tensor, rng);
    return tensor;
  };
  const auto scales = [&] {
    PoisonedTensor tensor =
        paged ? PoisonedTensor(DType::f32, {blocks_, shape.kv_heads, recipe_.page_size},
                               recipe_.scale_memory)
              : PoisonedTensor(DType::f32, {blocks_, shape.kv_heads}, recipe_.scale_memory);
    fill(tensor, rng);
    return tensor;
  };
  Cache cache;
  cache.k = pool(shape.head_dim_qk, recipe_.k_memory);
  if (!shape.v_is_k_prefix) cache.v = pool(shape.head_dim_v, recipe_.v_memory);
  if (shape.kv_type == DType::i8) {
    cache.k_scale = scales();
    if (!shape.v_is_k_prefix) cache.v_scale = scales();
  }
  return cache;
}

AppendCase::Place AppendCase::place_of(std::int64_t request, int head, std::int32_t slot) const {
  if (recipe_.layout == KvLayout::packed)
    return {kv_start_[static_cast<std::size_t>(request)] + slot, 0};
  const std::int64_t row = request * recipe_.table_heads + (recipe_.table_heads > 1 ? head : 0);
  return {pages_[static_cast<std::size_t>(row * columns_ + slot / recipe_.page_size)],
          slot % recipe_.page_size};
}

/// Returns how many numbers saturated.
std::uint64_t AppendCase::convert(bool of_v, std::int64_t token, int head, const Place& place,
                                  Cache& cache) const {
  const DType type = recipe_.shape.kv_type;
  PoisonedTensor& pool = of_v ? cache.v : cache.k;
  const bool paged = recipe_.layout == KvLayout::paged;
  const PoisonedTensor& rows = of_v ? v_ : k_;
  const std::vector<double> row = new_row(of_v, token, head);
  auto* to = static_cast<std::byte*>(pool.mutable_view().data) +
             (paged ? pool.offset_of(place.block, head, place.inside)
                    : pool.offset_of(place.block, head)) *
                 size_of(type);
  if (type == DType::i8) {
    const PlainRow codes = plain_i8(row);
    std::memcpy(to, codes.codes.data(), row.size());
    PoisonedTensor& scales = of_v ? cache.v_scale : cache.k_scale;
    const std::int64_t at = paged ? scales.offset_of(place.block, head, place.inside)
                                  : scales.offset_of(place.block, head);
    static_cast<float*>(scales.mutable_view().data)[at] = codes.scale;
    return 0;
  }
  if (type == recipe_.new_type) {
    std::memcpy(to,
                static_cast<const std::byte*>(rows.view().data) +
                    rows.offset_of(token, head) * size_of(type),
                row.size() * static_cast<std::size_t>(size_of(type)));
    return 0;
  }
  const std::vector<float>& scales = of_v ? v_scales_ : k_scales_;
  const bool per_head = recipe_.shape.fp8_scale == ScaleGranularity::kv_head;
  const double scale =
      scales.empty() ? 1.0
                     : static_cast<double>(scales[per_head ? static_cast<std::size_t>(head) : 0]);
  std::uint64_t saturated = 0;
  for (std::size_t d = 0; d < row.size(); ++d) {
    const double value = type == DType::f8e4m3 ? static_cast<float>(row[d] / scale) : row[d];
    saturated += type == DType::f8e4m3 && std::fabs(value) > 448.0 ? 1 : 0;
    const std::uint32_t bits = plain_bits(type, value);
    std::memcpy(to + static_cast<std::int64_t>(d) * size_of(type), &bits,
                static_cast<std::size_t>(size_of(type)));
  }
  return saturated;
}

Cache AppendCase::expected(std::uint64_t& saturated) const {
  Cache result = cache();
  saturated = 0;
  std::int64_t token = 0;
  for (std::size_t r = 0; r < recipe_.q_lens.size(); ++r)
    for (std::int32_t i = 0; i < recipe_.q_lens[r]; ++i, ++token)
      for (int head = 0; head < recipe_.shape.kv_heads; ++head) {
        const Place place = place_of(static_cast<std::int64_t>(r), head,
                                     recipe_.kv_lens[r] - recipe_.q_lens[r] + i);
        saturated += convert(false, token, head, place, result);
        if (v_) saturated += convert(true, token, head, place, result);
      }
  return result;
}

void AppendCase::append(const Backend& backend, Cache& cache, std::uint64_t* saturated) const {
  AppendArgs own = args(cache);
  own.saturated = saturated;
  PlacedAppend(backend, recipe_.shape, step(), own).run();
}

}  // namespace headwise::conformance
