#include "tests/conformance/lengths.h"

#include <algorithm>
#include <limits>

namespace headwise::conformance {
namespace {

constexpr std::int64_t kMaxPosition = std::numeric_limits<std::int32_t>::max();

std::int32_t edge_length(int page, Rng& rng) {
  const std::vector<std::int32_t> edges = {
      1, 2, 3, 5, 15, 16, 17, 31, 33, 48, 63, 64, 65, 90, page - 1, page, page + 1, 2 * page + 1};
  return std::clamp(rng.pick(edges), 1, 140);
}

struct Lengths {
  std::int32_t q;
  std::int32_t kv;
};

Lengths prefill(int page, Rng& rng) {
  const std::int32_t n = edge_length(page, rng);
  return {n, n};
}

Lengths append(int page, Rng& rng) {
  const std::int32_t kv = edge_length(page, rng) + 1;
  return {static_cast<std::int32_t>(rng.between(std::min(2, kv), std::min(17, kv))), kv};
}

Lengths decode(int page, Rng& rng) { return {1, edge_length(page, rng)}; }

Lengths edge(int page, Rng& rng) {
  const std::int32_t n = edge_length(page, rng);
  switch (rng.below(5)) {
    case 0:
      return {0, n};
    case 1:
      return {std::min(n, 9), 0};
    case 2:
      return {0, 0};
    case 3:
      return {n % 40 + 2, n % 7 + 1};  // more queries than keys
    default:
      return {1, 1};
  }
}

Lengths page_edge(int page, Rng& rng) {
  const std::vector<std::int32_t> edges = {page - 1, page,         page + 1,
                                           2 * page, 2 * page + 1, 3 * page};
  const std::int32_t kv = std::clamp(rng.pick(edges), 0, 600);
  return {static_cast<std::int32_t>(rng.between(1, 3)), kv};
}

Lengths draw(std::string_view kind, int page, bool first, Rng& rng) {
  if (kind == "prefill") return prefill(page, rng);
  if (kind == "append") return append(page, rng);
  if (kind == "decode") return decode(page, rng);
  if (kind == "edges") return edge(page, rng);
  if (kind == "page-edges") return page_edge(page, rng);
  if (kind == "one-long")
    return first ? Lengths{1, static_cast<std::int32_t>(rng.between(200, 700))}
                 : Lengths{static_cast<std::int32_t>(rng.between(1, 2)), 1 + edge_length(1, rng)};
  switch (rng.below(4)) {  // mixed
    case 0:
      return prefill(page, rng);
    case 1:
      return append(page, rng);
    case 2:
      return decode(page, rng);
    default:
      return edge(page, rng);
  }
}

/// Multiply-adds of the reference.
std::int64_t work_of(const Recipe& recipe, std::size_t request) {
  const auto& shape = recipe.shape;
  return std::int64_t{recipe.q_lens[request]} * recipe.kv_lens[request] * shape.q_heads *
         (shape.head_dim_qk + shape.head_dim_v);
}

std::int64_t elements_of(const Recipe& recipe, std::size_t request) {
  const auto& shape = recipe.shape;
  const std::int64_t slots = recipe.layout == KvLayout::packed
                                 ? recipe.kv_lens[request]
                                 : std::int64_t{recipe.pages_of(request)} * recipe.page_size;
  return slots * shape.kv_heads * (shape.head_dim_qk + shape.head_dim_v) +
         std::int64_t{recipe.q_lens[request]} * shape.q_heads *
             (shape.head_dim_qk + shape.head_dim_v);
}

/// Halves what costs most until the whole is within the budget.
void cut(Recipe& recipe) {
  constexpr std::int64_t kWork = 700'000;
  constexpr std::int64_t kElements = 150'000;
  for (;;) {
    std::int64_t work = 0;
    std::int64_t elements = 0;
    std::size_t heaviest = 0;
    for (std::size_t r = 0; r < recipe.q_lens.size(); ++r) {
      work += work_of(recipe, r);
      elements += elements_of(recipe, r);
      if (elements_of(recipe, r) + work_of(recipe, r) / 4 >
          elements_of(recipe, heaviest) + work_of(recipe, heaviest) / 4)
        heaviest = r;
    }
    std::int32_t& q = recipe.q_lens[heaviest];
    std::int32_t& kv = recipe.kv_lens[heaviest];
    if ((work <= kWork && elements <= kElements) || (q <= 1 && kv <= recipe.page_size)) return;
    const bool prefill = q == kv;
    if (kv > 1) kv = (kv + 1) / 2;
    if (q > 1) q = prefill ? kv : (q + 1) / 2;
  }
}

/// Pages of a longer text in order, in any order, or as far out as positions go.
std::vector<std::int32_t> draw_pages(std::string_view kind, int kv_len, int page, Rng& rng) {
  const int pages = (kv_len + page - 1) / page;
  std::vector<std::int32_t> result;
  std::int64_t at = kind == "far" ? kMaxPosition - std::int64_t{2} * page * pages : 0;
  for (int i = 0; i < pages; ++i) {
    at += kind == "far" ? rng.below(page + 1) : page * rng.below(3);
    result.push_back(static_cast<std::int32_t>(at));
    at += page;
  }
  if (kind == "unordered") {
    const auto order = rng.permutation(pages);
    std::vector<std::int32_t> shuffled;
    for (const std::int64_t i : order) shuffled.push_back(result[static_cast<std::size_t>(i)]);
    return shuffled;
  }
  if (kind == "far" && pages > 0)  // the last slot stands at the largest position
    result.back() = static_cast<std::int32_t>(kMaxPosition - (kv_len - 1) % page);
  return result;
}

std::int32_t draw_start(const Recipe& recipe, std::size_t request, std::string_view kind,
                        Rng& rng) {
  const std::int32_t q = recipe.q_lens[request];
  const std::int32_t kv = recipe.kv_lens[request];
  std::int64_t first = kv > 0 ? kMaxPosition : 0;
  std::int64_t last = 0;
  for (std::int32_t slot = 0; slot < kv; ++slot) {
    first = std::min(first, recipe.position_of(request, 0, slot));
    last = std::max(last, recipe.position_of(request, 0, slot));
  }
  if (kind == "mixed") kind = rng.pick<std::string_view>({"inside", "negative", "beyond", "end"});
  std::int64_t start = last + 1 - q;
  if (kind == "inside") start = rng.between(first, last);
  if (kind == "negative") start = -rng.between(1, 20);
  if (kind == "beyond") start = last + rng.between(1, 70);
  return static_cast<std::int32_t>(std::min(start, kMaxPosition - q));
}

}  // namespace

void draw_lengths(Recipe& recipe, const Spec& spec, Rng& rng) {
  const std::string_view kind = spec.text(kLengths);
  const int requests = spec.number(kRequests);
  const auto first = rng.below(requests);
  for (int r = 0; r < requests; ++r) {
    const Lengths lengths = draw(kind, recipe.page_size, r == first, rng);
    recipe.q_lens.push_back(lengths.q);
    recipe.kv_lens.push_back(lengths.kv);
  }
  cut(recipe);
}

void draw_positions(Recipe& recipe, const Spec& spec, Rng& rng) {
  const std::string_view pages = spec.text(kPagePos);
  if (pages != "default")
    for (std::size_t r = 0; r < recipe.q_lens.size(); ++r)
      for (int head = 0; head < recipe.table_heads; ++head)
        recipe.page_pos.push_back(draw_pages(pages, recipe.kv_lens[r], recipe.page_size, rng));
  const std::string_view start = spec.text(kQStart);
  if (start == "default") return;
  std::vector<std::int32_t> starts;
  for (std::size_t r = 0; r < recipe.q_lens.size(); ++r)
    starts.push_back(draw_start(recipe, r, start, rng));
  recipe.q_start = std::move(starts);
}

}  // namespace headwise::conformance
