// With batch_invariant a token's bits are its own: whatever else is in the step, however prompts
// are cut into chunks and keys into pages.

#include <gtest/gtest.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/conformance/every_backend.h"

namespace headwise::conformance {
namespace {

AttentionShape shape_of(int q_heads, int kv_heads, int dim, DType type = DType::bf16) {
  return {.q_heads = q_heads,
          .kv_heads = kv_heads,
          .head_dim_qk = dim,
          .head_dim_v = dim,
          .q_type = type,
          .kv_type = type};
}

template <class View>
void take_rows(View& view, std::int64_t first, std::int64_t rows) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(view.data)>>,
                                  const std::byte, std::byte>;
  view.data = static_cast<Byte*>(view.data) + first * view.strides[0] * size_of(view.dtype);
  view.sizes[0] = rows;
}

/// New tokens first ... first + count - 1 of request `r`, alone in a step.
void run_alone(const Backend& backend, const Case& c, std::size_t r, std::int32_t first,
               std::int32_t count, Outputs& outputs) {
  const Recipe& recipe = c.recipe();
  StepBatch step = c.step(outputs.out, outputs.lse);
  std::int64_t token = first;
  for (std::size_t i = 0; i < r; ++i) token += recipe.q_lens[i];
  take_rows(step.q, token, count);
  take_rows(step.out, token, count);
  take_rows(step.lse, token, count);
  const auto start = static_cast<std::int32_t>(recipe.start_of(r) + first);
  step.q_lens = {&count, 1};
  step.kv_lens = {&recipe.kv_lens[r], 1};
  step.q_start = {&start, 1};
  step.prefix_group = step.prefix_tokens = {};
  if (step.layout == KvLayout::packed) {
    step.kv_start = step.kv_start.subspan(r, 1);
  } else {
    const auto row = static_cast<std::int64_t>(r) * step.tables.request_stride;
    step.tables.pages += row;
    if (step.tables.positions != nullptr) step.tables.positions += row;
  }
  run_step(backend, c.shape(), step, c.kv(), c.args(), recipe.options);
}

/// Contexts across several cuts; rows that see little beside rows that see much.
std::vector<Recipe> recipes() {
  const Recipe mixed{.shape = shape_of(4, 1, 128),
                     .q_lens = {1, 40, 1, 3, 1, 90},
                     .kv_lens = {5000, 4500, 9, 2049, 4096, 90}};
  std::vector<Recipe> all = {mixed};
  const auto vary = [&](auto&& change) {
    all.push_back(mixed);
    change(all.back());
  };
  vary([](Recipe& r) { r.shape = shape_of(6, 2, 64, DType::f16); });
  vary([](Recipe& r) { r.shape = shape_of(7, 1, 256); });
  vary([](Recipe& r) { r.shape.head_dim_qk = 192; });
  vary([](Recipe& r) { r.shape.kv_type = DType::f8e4m3; });
  vary([](Recipe& r) { r.shape.kv_type = DType::i8; });
  vary([](Recipe& r) { r.shape.window_left = 2500; });
  vary([](Recipe& r) { r.shape.window_left = 40; });
  vary([](Recipe& r) { r.shape.softcap = 5.0F; });
  vary([](Recipe& r) { r.shape.window_right = -1; });
  vary([](Recipe& r) { r.shape.sinks = true; });
  vary([](Recipe& r) { r.shared_prefix = true; });
  vary([](Recipe& r) { r.layout = KvLayout::packed; });
  vary([](Recipe& r) { r.q_start = {3000, 4400, 5, 2046, 100, -50}; });
  // Logits that grow far beyond what a row's reference bears, each row's elsewhere.
  vary([](Recipe& r) { r.q_spread = 40.0; });
  for (Recipe& recipe : all) {
    recipe.options.batch_invariant = true;
    recipe.with_scales = true;
  }
  return all;
}

TEST(Invariance, TokensDoNotDependOnTheStep) {
  for (const Recipe& recipe : recipes()) {
    const Case c(recipe);
    for_each_able_backend(c, [&](const Backend& backend) {
      Outputs together = own_outputs(c);
      run(backend, c, together);
      for (const std::int32_t chunk : {1000, 33}) {
        Outputs apart = own_outputs(c);
        for (std::size_t r = 0; r < recipe.q_lens.size(); ++r)
          for (std::int32_t at = 0; at < recipe.q_lens[r]; at += chunk)
            run_alone(backend, c, r, at, std::min(chunk, recipe.q_lens[r] - at), apart);
        EXPECT_EQ(difference(together, apart), "") << "chunks of " << chunk;
      }
    });
  }
}

TEST(Invariance, AnswersMeetTheBounds) {
  for (const Recipe& recipe : recipes()) expect_bounds(recipe);
}

/// The same numbers in pages of another size.
/// The same numbers in pages of another size.
Case in_pages(const Case& first, Recipe recipe, int page_size) {
  recipe.page_size = page_size;
  Case second(recipe);
  const int dim = recipe.shape.head_dim_qk;
  const auto number = [](const std::vector<double>& numbers, int d) {
    return static_cast<float>(numbers[static_cast<std::size_t>(d)]);
  };
  for (std::size_t r = 0; r < recipe.kv_lens.size(); ++r)
    for (std::int32_t slot = 0; slot < recipe.kv_lens[r]; ++slot)
      for (int d = 0; d < dim; ++d) {
        second.store_key(r, 0, slot, d, number(first.key(r, 0, slot), d));
        second.store_value(r, 0, slot, d, number(first.value(r, 0, slot), d));
      }
  for (std::int64_t token = 0; token < recipe.tokens(); ++token)
    for (int head = 0; head < recipe.shape.q_heads; ++head)
      for (int d = 0; d < dim; ++d)
        second.q().store(second.q().offset_of(token, head) + d,
                         number(first.query(token, head), d));
  return second;
}

TEST(Invariance, PageSizesDoNotMatter) {
  Recipe recipe{.shape = shape_of(4, 1, 64), .q_lens = {1, 20, 3}, .kv_lens = {3000, 2100, 50}};
  recipe.options.batch_invariant = true;
  const Case first(recipe);
  for (const int page_size : {7, 24}) {
    const Case second = in_pages(first, recipe, page_size);
    for_each_able_backend(second, [&](const Backend& backend) {
      Outputs one = own_outputs(first);
      Outputs other = own_outputs(second);
      run(backend, first, one);
      run(backend, second, other);
      EXPECT_EQ(difference(one, other), "");
    });
  }
}

}  // namespace
}  // namespace headwise::conformance
