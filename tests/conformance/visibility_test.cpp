// What a row sees reaches it, NaN included; what it does not see never does.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "tests/conformance/every_backend.h"

namespace headwise::conformance {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Recipe three_requests(DType q_type, DType kv_type) {
  return {.shape = {.q_heads = 6,
                    .kv_heads = 2,
                    .head_dim_qk = 64,
                    .head_dim_v = 48,
                    .q_type = q_type,
                    .kv_type = kv_type,
                    .window_left = 20},
          .q_lens = {3, 9, 1},
          .kv_lens = {40, 39, 70}};
}

std::vector<Recipe> recipes() {
  Recipe packed = three_requests(DType::f32, DType::f32);
  packed.layout = KvLayout::packed;
  Recipe small_pages = three_requests(DType::f16, DType::f16);
  small_pages.page_size = 3;
  return {three_requests(DType::f32, DType::f32), three_requests(DType::bf16, DType::bf16),
          three_requests(DType::bf16, DType::f8e4m3), packed, small_pages};
}

Outputs answer(const Backend& backend, const Case& c) {
  Outputs outputs = own_outputs(c);
  run(backend, c, outputs);
  return outputs;
}

/// Visits request, row, head and the offset of the row in dense answers.
template <class Visit>
void for_each_answer(const Case& c, const Visit& visit) {
  std::int64_t token = 0;
  for (std::size_t r = 0; r < c.recipe().q_lens.size(); ++r)
    for (std::int32_t row = 0; row < c.recipe().q_lens[r]; ++row, ++token)
      for (int head = 0; head < c.shape().q_heads; ++head) visit(r, row, head, token);
}

bool is_clean(const Outputs& outputs, std::int64_t token, int head, int dim) {
  for (int d = 0; d < dim; ++d)
    if (std::isnan(outputs.out.load(outputs.out.offset_of(token, head) + d))) return false;
  return true;
}

TEST(Visibility, ANaNInAKeyMakesNaNOfTheRowsThatSeeItAndOfNoOther) {
  constexpr std::size_t kRequest = 1;
  constexpr int kHead = 1;
  for (const Recipe& recipe : recipes())
    for (const std::int32_t slot : {11, 25, 34, 38}) {
      Case c(recipe);
      c.store_key(kRequest, kHead, slot, 5, kNaN);
      for_each_able_backend(c, [&](const Backend& backend) {
        const Outputs got = answer(backend, c);
        for_each_answer(c, [&](std::size_t r, std::int32_t row, int head, std::int64_t token) {
          const bool sees =
              r == kRequest && head / 3 == kHead && c.recipe().seen_by_row(r, row, slot);
          const std::int64_t at = got.out.offset_of(token, head);
          for (int d = 0; d < c.shape().head_dim_v; ++d)
            ASSERT_EQ(std::isnan(got.out.load(at + d)), sees)
                << "slot " << slot << " request " << r << " row " << row << " head " << head;
          ASSERT_EQ(std::isnan(got.lse.load(got.lse.offset_of(token, head))), sees);
        });
      });
    }
}

TEST(Visibility, ANaNInAValueReachesTheRowsThatSeeItAndNoOtherRequest) {
  for (const Recipe& recipe : recipes())
    for (const std::int32_t slot : {11, 25, 38}) {
      Case c(recipe);
      c.store_value(1, 0, slot, 7, kNaN);
      for_each_able_backend(c, [&](const Backend& backend) {
        const Outputs got = answer(backend, c);
        for_each_answer(c, [&](std::size_t r, std::int32_t row, int head, std::int64_t token) {
          const std::int64_t at = got.out.offset_of(token, head);
          if (r == 1 && head / 3 == 0 && c.recipe().seen_by_row(r, row, slot)) {
            ASSERT_TRUE(std::isnan(got.out.load(at + 7))) << "slot " << slot << " row " << row;
          } else if (r != 1) {
            ASSERT_TRUE(is_clean(got, token, head, c.shape().head_dim_v)) << "request " << r;
          }
          ASSERT_FALSE(std::isnan(got.lse.load(got.lse.offset_of(token, head))));
        });
      });
    }
}

TEST(Visibility, ANaNInAQueryStaysInItsRowAndHead) {
  for (const Recipe& recipe : recipes()) {
    Case c(recipe);
    c.q().store(c.q().offset_of(5, 2) + 60, kNaN);
    for_each_able_backend(c, [&](const Backend& backend) {
      const Outputs got = answer(backend, c);
      for_each_answer(c, [&](std::size_t, std::int32_t, int head, std::int64_t token) {
        ASSERT_EQ(is_clean(got, token, head, c.shape().head_dim_v), token != 5 || head != 2);
      });
    });
  }
}

TEST(Visibility, ARowThatSeesOnlyNaNIsNotEmpty) {
  Recipe recipe = three_requests(DType::f32, DType::f32);
  recipe.shape.window_left = 0;
  recipe.q_lens = {1};
  recipe.kv_lens = {17};
  Case c(recipe);
  c.store_key(0, 0, 16, 0, kNaN);
  for_each_able_backend(c, [&](const Backend& backend) {
    const Outputs got = answer(backend, c);
    for (int head = 0; head < 6; ++head) {
      EXPECT_EQ(std::isnan(got.lse.load(head)), head < 3);
      EXPECT_EQ(std::isnan(got.out.load(got.out.offset_of(0, head))), head < 3);
    }
  });
}

TEST(Visibility, WhatLiesInDeadSlotsChangesNoBit) {
  // Slots of pages that are read in part: before the first window, and behind the last key.
  struct Dead {
    std::size_t request;
    std::int32_t slot;
  };
  constexpr Dead kDead[] = {{0, 16}, {0, 40}, {0, 47}, {1, 9}, {1, 39}, {2, 48}, {2, 70}, {2, 79}};
  for (Recipe recipe :
       {three_requests(DType::f32, DType::f32), three_requests(DType::f16, DType::f16),
        three_requests(DType::bf16, DType::bf16)}) {
    const Case clean(recipe);
    for (const float poison : {kInf, -kInf, 60000.0F, kNaN}) {
      Case c(recipe);
      for (const auto& [request, slot] : kDead)
        for (int head = 0; head < 2; ++head)
          for (int d = 0; d < 48; ++d) {
            c.store_key(request, head, slot, d, poison);
            c.store_value(request, head, slot, d, poison);
          }
      for_each_able_backend(c, [&](const Backend& backend) {
        EXPECT_EQ(difference(answer(backend, c), answer(backend, clean)), "") << poison;
      });
    }
  }
}

TEST(Visibility, WindowsMayBeAsLongAsNumbersGo) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (const std::int32_t start : {-3, 5, 2'000'000'000}) {
    Recipe recipe = three_requests(DType::f32, DType::f32);
    recipe.shape.window_left = recipe.shape.window_right = -1;
    recipe.q_start = {start, start, start};
    const Case c(recipe);
    const Outputs exact = reference_answer(c);
    for (const auto& [left, right] :
         {std::pair{kMax, kMax}, std::pair{kMax, kMax - 1}, std::pair{std::int64_t{-1}, kMax}}) {
      AttentionShape shape = recipe.shape;
      shape.window_left = left;
      shape.window_right = right;
      for_each_able_backend(c, [&](const Backend& backend) {
        Outputs got = own_outputs(c);
        run_step(backend, shape, c.step(got.out, got.lse), c.kv(), c.args());
        EXPECT_EQ(fault_in(c, exact, got), "") << left << ' ' << right << " start " << start;
      });
    }
  }
}

TEST(Visibility, LogitsFarBelowZeroAreExact) {
  // Whole numbers around +-1550 in the first element: logits near -3e5 or 3e5, exact in f32.
  for (const float sign : {-1.0F, 1.0F})
    for (const bool sinks : {false, true}) {
      Recipe recipe = three_requests(DType::f32, DType::f32);
      recipe.shape.sinks = sinks;
      recipe.sink_low = recipe.sink_high = sign * 3e5F;
      Case c(recipe);
      Rng rng(8);
      for (std::int64_t i = 0; i < recipe.tokens() * 6 * 64; ++i)
        c.q().store(i, i % 64 == 0 ? sign * 1550.0F : static_cast<float>(rng.between(-2, 2)));
      for (std::size_t r = 0; r < 3; ++r)
        for (int head = 0; head < 2; ++head)
          for (std::int32_t slot = 0; slot < recipe.kv_lens[r]; ++slot)
            if (recipe.seen_by_request(r, slot))
              for (int d = 0; d < 64; ++d)
                c.store_key(r, head, slot, d,
                            d == 0 ? 1550.0F : static_cast<float>(rng.between(-2, 2)));
      const Outputs exact = reference_answer(c);
      ASSERT_GT(std::fabs(exact.lse.load(0)), 2.9e5F);
      for_each_able_backend(c, [&](const Backend& backend) {
        EXPECT_EQ(fault_in(c, exact, answer(backend, c)), "") << "sign " << sign;
      });
    }
}

}  // namespace
}  // namespace headwise::conformance
