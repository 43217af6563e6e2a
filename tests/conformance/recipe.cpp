#include "tests/conformance/recipe.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "tests/conformance/lengths.h"

namespace headwise::conformance {
namespace {

int value_dim(const Spec& spec) {
  const int qk = spec.number(kDimQk);
  const std::string_view kind = spec.text(kDimV);
  if (kind == "same") return qk;
  if (kind == "half") return (qk + 1) / 2;
  if (kind == "128") return 128;
  if (kind == "wider") return qk + qk / 2 + 8;
  if (kind == "odd") return qk / 3 * 2 + 1;
  return qk == 576 ? 512 : std::max(1, qk * 7 / 8);  // prefix
}

struct Window {
  std::int64_t left;
  std::int64_t right;
};

Window window_of(const Spec& spec, int page) {
  const std::string_view kind = spec.text(kMask);
  if (kind == "causal") return {-1, 0};
  if (kind == "full") return {-1, -1};
  if (kind == "window-0") return {0, 0};
  if (kind == "window-1") return {1, 0};
  if (kind == "window-page-1") return {page - 1, 0};
  if (kind == "window-page") return {page, 0};
  if (kind == "window-7") return {7, 0};
  if (kind == "window-64") return {64, 0};
  if (kind == "window-huge") return {std::int64_t{5'000'000'000}, 0};
  if (kind == "ahead-1") return {0, 1};
  if (kind == "symmetric-5") return {5, 5};
  if (kind == "symmetric-page") return {page, page};
  if (kind == "right-3") return {-1, 3};
  return {7, -1};
}

AttentionShape shape_of(const Spec& spec, int page, Rng& rng) {
  AttentionShape shape;
  shape.kv_heads = spec.number(kKvHeads);
  shape.q_heads = shape.kv_heads * spec.number(kGroup);
  shape.head_dim_qk = spec.number(kDimQk);
  shape.head_dim_v = value_dim(spec);
  shape.q_type = parse_dtype(spec.text(kQType));
  shape.kv_type = parse_dtype(spec.text(kKvType));
  if (spec.is(kFp8Scale, "kv_head")) shape.fp8_scale = ScaleGranularity::kv_head;
  const float usual = 1.0F / std::sqrt(static_cast<float>(shape.head_dim_qk));
  if (spec.is(kScale, "larger")) shape.scale = usual * static_cast<float>(rng.uniform(1.2, 1.9));
  if (spec.is(kScale, "negative")) shape.scale = -usual;
  if (spec.is(kScale, "zero")) shape.scale = 0.0F;
  const Window window = window_of(spec, page);
  shape.window_left = window.left;
  shape.window_right = window.right;
  if (!spec.is(kSoftcap, "none")) shape.softcap = static_cast<float>(spec.number(kSoftcap));
  shape.sinks = !spec.is(kSinks, "none");
  shape.v_is_k_prefix = spec.is(kDimV, "prefix");
  return shape;
}

Memory memory_of(std::string_view text) {
  if (text == "swapped") return Memory::swapped;
  return text == "padded" ? Memory::padded : Memory::dense;
}

void set_memory(Recipe& recipe, const Spec& spec) {
  recipe.k_memory = memory_of(spec.text(kKMemory));
  recipe.v_memory = memory_of(spec.text(kVMemory));
  recipe.v_beside_k = spec.is(kVMemory, "beside-k");
  recipe.q_memory = memory_of(spec.text(kQMemory));
  recipe.out_memory = memory_of(spec.text(kOutMemory));
  recipe.wants_lse = !spec.is(kLse, "absent");
  recipe.lse_memory = memory_of(spec.text(kLse));
  recipe.f32_out = spec.is(kOutType, "f32");
}

void set_numbers(Recipe& recipe, const Spec& spec) {
  recipe.with_scales = !spec.is(kFp8Scale, "null");
  if (spec.is(kSinks, "dominant")) recipe.sink_low = recipe.sink_high = 6.0F;
  if (spec.is(kSinks, "tiny")) recipe.sink_low = recipe.sink_high = -1e4F;
  // With |q| |k| much larger than their product, f32 sums of 576 terms miss the f32 bound of the
  // LSE.
  const bool f32 = recipe.shape.q_type == DType::f32 && recipe.shape.kv_type == DType::f32;
  if (spec.is(kData, "peaked")) recipe.q_spread = f32 ? 2.0 : 4.0;
  if (spec.is(kData, "flat")) recipe.q_spread = 0.01;
}

Capacity roomy(const Recipe& recipe) {
  const auto longest = [](const std::vector<std::int32_t>& lens) {
    return lens.empty() ? 0 : *std::max_element(lens.begin(), lens.end());
  };
  return {.requests = recipe.requests() + 3,
          .tokens = recipe.tokens() + 29,
          .q_len = longest(recipe.q_lens) + 5,
          .kv_len = longest(recipe.kv_lens) + 77};
}

template <class T>
void list(std::ostream& text, const char* name, const std::vector<T>& values) {
  text << ' ' << name << " [";
  for (std::size_t i = 0; i < values.size(); ++i) text << (i > 0 ? " " : "") << values[i];
  text << ']';
}

double bound_of(DType type) {
  switch (type) {
    case DType::f32:
      return 5e-6;
    case DType::f16:
      return 6e-4;
    default:
      return 5e-3;
  }
}

}  // namespace

std::int64_t Recipe::tokens() const {
  return std::accumulate(q_lens.begin(), q_lens.end(), std::int64_t{0});
}

std::int64_t Recipe::start_of(std::size_t request) const {
  return q_start.empty() ? std::int64_t{kv_lens[request]} - q_lens[request] : q_start[request];
}

std::int64_t Recipe::position_of(std::size_t request, int head, std::int32_t slot) const {
  if (page_pos.empty()) return slot;
  const std::size_t heads = static_cast<std::size_t>(table_heads);
  const std::size_t row = request * heads + (table_heads > 1 ? static_cast<std::size_t>(head) : 0);
  return std::int64_t{page_pos[row][static_cast<std::size_t>(slot / page_size)]} + slot % page_size;
}

bool Recipe::seen_by_row(std::size_t request, std::int32_t row, std::int64_t position) const {
  const std::int64_t at = start_of(request) + row;
  return (shape.window_left < 0 || position >= at - shape.window_left) &&
         (shape.window_right < 0 || position <= at + shape.window_right);
}

bool Recipe::seen_by_request(std::size_t request, std::int64_t position) const {
  // Windows of neighbouring rows touch, so what the request sees is one interval.
  if (q_lens[request] == 0) return false;
  const std::int64_t first = start_of(request);
  const std::int64_t last = first + q_lens[request] - 1;
  return (shape.window_left < 0 || position >= first - shape.window_left) &&
         (shape.window_right < 0 || position <= last + shape.window_right);
}

bool Recipe::row_has_keys(std::size_t request, std::int32_t row, int head) const {
  for (std::int32_t slot = 0; slot < kv_lens[request]; ++slot)
    if (seen_by_row(request, row, position_of(request, head, slot))) return true;
  return false;
}

Recipe make_recipe(const Spec& spec, Rng& rng) {
  Recipe recipe;
  recipe.layout = spec.is(kPage, "packed") ? KvLayout::packed : KvLayout::paged;
  if (recipe.layout == KvLayout::paged) recipe.page_size = spec.number(kPage);
  recipe.shape = shape_of(spec, recipe.page_size, rng);
  if (spec.text(kTables).starts_with("head")) recipe.table_heads = recipe.shape.kv_heads;
  recipe.padded_tables = spec.text(kTables).ends_with("padded");
  recipe.shared_prefix = spec.is(kSharing, "prefix");
  set_memory(recipe, spec);
  set_numbers(recipe, spec);
  draw_lengths(recipe, spec, rng);
  draw_positions(recipe, spec, rng);
  recipe.options.threads = spec.number(kThreads);
  if (spec.is(kCapacity, "roomy")) recipe.options.capacity = roomy(recipe);
  recipe.seed = rng.next();
  return recipe;
}

std::string to_string(const Recipe& recipe) {
  std::ostringstream text;
  text << to_string(recipe.shape) << " q " << name_of(recipe.shape.q_type) << " kv "
       << name_of(recipe.shape.kv_type) << " scale " << recipe.shape.logit_scale() << " window "
       << recipe.shape.window_left << ',' << recipe.shape.window_right << " cap "
       << recipe.shape.softcap << " sinks " << recipe.shape.sinks << " page "
       << (recipe.layout == KvLayout::packed ? 0 : recipe.page_size) << " tables "
       << recipe.table_heads << " out f32 " << recipe.f32_out << " lse " << recipe.wants_lse
       << " invariant " << recipe.options.batch_invariant;
  list(text, "q_lens", recipe.q_lens);
  list(text, "kv_lens", recipe.kv_lens);
  list(text, "q_start", recipe.q_start);
  for (const auto& pages : recipe.page_pos) list(text, "page_pos", pages);
  return std::move(text).str();
}

double out_bound(const AttentionShape& shape) {
  if (shape.q_type == DType::f8e4m3) return 4e-2;
  return std::max(bound_of(shape.q_type), bound_of(shape.kv_type));
}

double lse_bound(const AttentionShape& shape, double exact) {
  const bool f32 = shape.q_type == DType::f32 && shape.kv_type == DType::f32;
  return (f32 ? 1e-5 : 2.0 * out_bound(shape)) + 0x1p-22 * std::fabs(exact);
}

}  // namespace headwise::conformance
