// Requests that share a prefix, and say so: the answer is what it is without.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tests/conformance/every_backend.h"

namespace headwise::conformance {
namespace {

AttentionShape shape_of(int q_heads, int kv_heads, int dim) {
  return {.q_heads = q_heads, .kv_heads = kv_heads, .head_dim_qk = dim, .head_dim_v = dim};
}

/// The first request's keys are the prefix; others have some behind it.
Recipe recipe_of(AttentionShape shape, std::int32_t prefix, std::vector<std::int32_t> q_lens,
                 std::vector<std::int32_t> own) {
  Recipe recipe{.shape = std::move(shape), .q_lens = std::move(q_lens), .shared_prefix = true};
  for (std::size_t r = 0; r < own.size(); ++r)
    recipe.kv_lens.push_back(prefix + own[r] + (r > 0 ? recipe.q_lens[r] : 0));
  recipe.q_spread = 2.0;  // the parts' largest logits differ
  return recipe;
}

std::vector<Recipe> recipes() {
  std::vector<Recipe> all;
  // Few rows, and as many as fill several tiles.
  all.push_back(recipe_of(shape_of(8, 2, 128), 700, {1, 1, 1}, {0, 5, 300}));
  const std::vector<std::int32_t> forty(40, 1);
  std::vector<std::int32_t> own;
  for (int r = 0; r < 40; ++r) own.push_back(r * r % 97);
  all.push_back(recipe_of(shape_of(10, 2, 64), 777, forty, own));
  // New tokens from none to many, behind it at different distances.
  all.push_back(
      recipe_of(shape_of(6, 2, 128), 900, {3, 0, 17, 1, 150, 2, 40}, {0, 9, 0, 64, 33, 1000, 1}));
  for (const DType q_type : {DType::bf16, DType::f16})
    for (const DType kv_type : {q_type, DType::f8e4m3, DType::i8}) {
      Recipe recipe = recipe_of(shape_of(8, 2, 128), 650, {1, 2, 1, 30}, {0, 77, 1, 10});
      recipe.shape.q_type = q_type;
      recipe.shape.kv_type = kv_type;
      recipe.shape.sinks = true;
      recipe.with_scales = true;
      all.push_back(recipe);
    }
  // A long one, cut into parts.
  all.push_back(recipe_of(shape_of(4, 1, 192), 5000, {1, 1, 4, 9}, {0, 700, 40, 3}));
  all.back().shape.head_dim_v = 128;
  all.push_back(recipe_of(shape_of(4, 2, 256), 3000, {1, 1, 4, 30}, {0, 700, 40, 3}));
  // Odd pages, and tables a head.
  for (const int page_size : {1, 48, 1024}) {
    Recipe recipe = recipe_of(shape_of(4, 2, 56), 600, {1, 1, 5}, {0, 33, 2});
    recipe.page_size = page_size;
    recipe.table_heads = page_size == 48 ? 2 : 1;
    recipe.padded_tables = page_size == 48;
    all.push_back(recipe);
  }
  // Rows beside each other in memory, no LSE, f32 results.
  Recipe loose = recipe_of(shape_of(6, 2, 72), 640, {2, 1, 7}, {0, 128, 10});
  loose.q_memory = loose.out_memory = Memory::padded;
  loose.k_memory = Memory::swapped;
  loose.wants_lse = false;
  loose.f32_out = true;
  all.push_back(loose);
  Recipe packed = recipe_of(shape_of(8, 2, 128), 500, {1, 1, 3, 1}, {0, 0, 0, 0});
  packed.layout = KvLayout::packed;
  packed.kv_lens = {500, 500, 450, 500};
  all.push_back(packed);
  return all;
}

/// What not every row sees must not be read for all.
std::vector<Recipe> hidden() {
  std::vector<Recipe> all;
  const Recipe plain = recipe_of(shape_of(8, 2, 64), 700, {1, 4, 1, 60}, {0, 5, 300, 20});
  for (const std::int64_t window : {100, 650, 720, 1100}) {
    all.push_back(plain);
    all.back().shape.window_left = window;
  }
  all.push_back(plain);
  all.back().shape.window_right = -1;  // not causal: all see all
  all.push_back(plain);
  all.back().shape.softcap = 20.0F;
  all.push_back(plain);
  all.back().q_start = {699, 300, 650, -20};
  all.push_back(plain);
  Recipe& picked = all.back();
  for (std::size_t r = 0; r < 4; ++r) {
    picked.page_pos.emplace_back();
    for (int page = 0; page < picked.pages_of(r); ++page)
      picked.page_pos.back().push_back(16 * page + (page % 5 == 0 ? 400 : 0));
  }
  return all;
}

void expect_answers(const Recipe& recipe) {
  const Case c(recipe);
  const Outputs exact = reference_answer(c);
  for_each_able_backend(c, [&](const Backend& backend) {
    Outputs got = own_outputs(c);
    PlannedRun planned(backend, c, got);
    planned();
    EXPECT_EQ(fault_in(c, exact, got), "");
    Outputs again = own_outputs(c);
    run(backend, c, again);
    EXPECT_EQ(difference(got, again), "") << "same inputs, same plan, other bits";
    planned();
    EXPECT_EQ(difference(got, again), "") << "run again";
  });
}

TEST(SharedPrefix, MeetsTheBounds) {
  for (const Recipe& recipe : recipes()) expect_answers(recipe);
}

TEST(SharedPrefix, WhatRowsDoNotSeeIsTheirOwnAffair) {
  for (const Recipe& recipe : hidden()) expect_answers(recipe);
}

/// A key of one request's own part does not reach the others.
TEST(SharedPrefix, OwnKeysStayWithTheirRequest) {
  const Recipe recipe = recipe_of(shape_of(8, 2, 128), 640, {1, 1, 1, 2}, {0, 90, 90, 90});
  Case c(recipe);
  const Case clean(recipe);
  const Outputs exact = reference_answer(clean);
  for (int head = 0; head < 2; ++head)
    for (int d = 0; d < 128; ++d) {
      c.store_key(1, head, 680, d, 500.0F);
      c.store_value(1, head, 680, d, 500.0F);
    }
  for_each_able_backend(c, [&](const Backend& backend) {
    Outputs got = own_outputs(c);
    run(backend, c, got);
    const auto out = got.out.values();
    const auto right = exact.out.values();
    const std::size_t row = 8 * 128;
    double moved = 0.0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double away = std::abs(static_cast<double>(out[i]) - right[i]);
      if (i / row == 1)
        moved = std::max(moved, away);
      else
        EXPECT_LE(away, 0.05) << i;
    }
    EXPECT_GT(moved, 1.0);
  });
}

}  // namespace
}  // namespace headwise::conformance
