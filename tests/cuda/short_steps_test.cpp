// Decodes, appends and prefill of the shapes that serving has: the whole suite's cases are so
// varied that few of them are ones that a kernel for these alone computes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "tests/conformance/backend_choice.h"
#include "tests/conformance/random.h"
#include "tests/conformance/runner.h"

namespace headwise::conformance {
namespace {

AttentionShape random_shape(Rng& rng) {
  struct Dims {
    int qk, v;
  };
  const Dims dims = rng.pick(std::vector<Dims>{
      {64, 64}, {96, 96}, {128, 128}, {128, 128}, {128, 128}, {192, 128}, {256, 256}, {80, 112}});
  AttentionShape shape{.kv_heads = 1 + static_cast<int>(rng.below(3)),
                       .head_dim_qk = dims.qk,
                       .head_dim_v = dims.v,
                       .scale = {}};
  shape.q_heads = shape.kv_heads * rng.pick(std::vector<int>{1, 2, 3, 4, 4, 8, 8, 12, 16, 33, 64});
  shape.q_type = rng.below(3) == 0 ? DType::f16 : DType::bf16;
  shape.kv_type =
      rng.pick(std::vector<DType>{DType::f8e4m3, DType::i8, shape.q_type, shape.q_type});
  if (rng.below(2) == 0) shape.fp8_scale = ScaleGranularity::kv_head;
  if (rng.below(3) == 0) shape.window_left = rng.below(400);
  if (rng.below(6) == 0) shape.window_right = rng.below(3) == 0 ? rng.below(50) : -1;
  if (rng.below(5) == 0) shape.softcap = 20.0F;
  if (rng.below(5) == 0) shape.scale = rng.below(2) == 0 ? 0.3F : -0.05F;
  shape.sinks = rng.below(3) == 0;
  return shape;
}

Recipe random_recipe(Rng& rng) {
  Recipe recipe{.shape = random_shape(rng), .seed = static_cast<std::uint64_t>(rng.below(1 << 20))};
  const bool decode = rng.below(2) == 0;
  for (std::int64_t r = rng.below(6); r >= 0; --r) {
    const auto q_len = static_cast<std::int32_t>(decode ? rng.below(8) > 0 : rng.below(24));
    recipe.q_lens.push_back(q_len);
    recipe.kv_lens.push_back(static_cast<std::int32_t>(rng.below(8) == 0 ? rng.below(q_len + 2)
                                                       : rng.below(4) == 0
                                                           ? q_len + rng.below(3000)
                                                           : q_len + rng.below(300)));
    recipe.q_start.push_back(recipe.kv_lens.back() - q_len +
                             static_cast<std::int32_t>(rng.below(5) == 0 ? rng.below(20) : 0));
  }
  // Positions may come near 2^31, where sums of them leave 32 bits.
  const std::int32_t far = rng.below(3) > 0 ? 0 : std::numeric_limits<std::int32_t>::max() - 40000;
  for (std::int32_t& start : recipe.q_start) start += far;
  if (rng.below(2) == 0) recipe.q_start.clear();
  if (rng.below(5) == 0) recipe.layout = KvLayout::packed;
  recipe.page_size = rng.pick(std::vector<int>{8, 16, 16, 24, 64, 64, 128, 80});
  const bool paged = recipe.layout == KvLayout::paged;
  if (paged && rng.below(3) == 0) recipe.table_heads = recipe.shape.kv_heads;
  if (paged && rng.below(5) == 0)  // picked pages: gaps between them
    for (std::size_t r = 0; r < recipe.q_lens.size(); ++r)
      for (int head = 0; head < recipe.table_heads; ++head) {
        std::vector<std::int32_t> positions;
        std::int32_t at = far;
        for (int page = 0; page < recipe.pages_of(r); ++page, at += recipe.page_size)
          positions.push_back(at += static_cast<std::int32_t>(rng.below(3)) * recipe.page_size);
        recipe.page_pos.push_back(positions);
      }
  const std::vector<Memory> memory{Memory::dense, Memory::dense, Memory::swapped, Memory::padded};
  recipe.k_memory = rng.pick(memory);
  recipe.v_memory = rng.pick(memory);
  recipe.v_beside_k = rng.below(5) == 0;
  recipe.q_memory = rng.pick(memory);
  recipe.out_memory = rng.pick(memory);
  recipe.wants_lse = rng.below(4) > 0;
  recipe.with_scales = rng.below(4) > 0;
  recipe.f32_out = !recipe.shape.sinks && rng.below(4) == 0;
  recipe.q_spread = rng.below(4) == 0 ? 6.0 : 1.0;
  return recipe;
}

/// New tokens that fill several tiles, of few requests: the reference takes its time.
Recipe long_recipe(Rng& rng) {
  Recipe recipe = random_recipe(rng);
  recipe.shape.kv_heads = 1 + static_cast<int>(rng.below(2));
  recipe.shape.q_heads = recipe.shape.kv_heads * rng.pick(std::vector<int>{1, 1, 2, 3, 4, 8});
  recipe.q_lens.resize(std::min<std::size_t>(recipe.q_lens.size(), 3));
  recipe.kv_lens.clear();
  recipe.q_start.clear();
  recipe.page_pos.clear();
  recipe.table_heads = 1;
  for (std::int32_t& q_len : recipe.q_lens) {
    q_len = static_cast<std::int32_t>(rng.below(5) == 0 ? rng.below(3) : rng.below(420));
    recipe.kv_lens.push_back(q_len +
                             static_cast<std::int32_t>(rng.below(3) == 0 ? rng.below(900) : 0));
  }
  return recipe;
}

/// Whether the backends for GPUs compute `cases` of a seed's recipes within the bounds.
void judge(int seed, int cases, Recipe (*draw)(Rng&)) {
  std::vector<const Backend*> backends;
  for (const Backend* backend : chosen_backends())
    if (backend->device_type() == DeviceType::cuda) backends.push_back(backend);
  std::vector<int> computed(backends.size());
  for (int i = 0; i < cases; ++i) {
    Rng rng(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(i));
    const Case c(draw(rng));
    SCOPED_TRACE("case " + std::to_string(i) + ": " + to_string(c.recipe()));
    const Outputs exact = reference_answer(c);
    for (std::size_t b = 0; b < backends.size(); ++b) {
      if (!explain(*backends[b], c)) continue;
      SCOPED_TRACE(std::string(backends[b]->name()));
      Outputs got = own_outputs(c);
      run(*backends[b], c, got);
      EXPECT_EQ(fault_in(c, exact, got), "");
      ++computed[b];
    }
  }
  for (std::size_t b = 0; b < backends.size(); ++b)
    std::printf("%s: %d of %d\n", backends[b]->name().data(), computed[b], cases);
}

class ShortSteps : public ::testing::TestWithParam<int> {};
class LongSteps : public ::testing::TestWithParam<int> {};
class GrowingLogits : public ::testing::TestWithParam<int> {};

TEST_P(ShortSteps, MeetTheBounds) { judge(GetParam(), 60, random_recipe); }

TEST_P(LongSteps, MeetTheBounds) { judge(GetParam(), 20, long_recipe); }

// Logits that pass a row's first ones by hundreds, most of them late: a kernel that counts on what
// it saw first has to find that out, also in parts of a split and in some rows alone.
TEST_P(GrowingLogits, MeetTheBounds) {
  judge(GetParam(), 12, [](Rng& rng) {
    Recipe recipe = rng.below(3) == 0 ? random_recipe(rng) : long_recipe(rng);
    recipe.q_spread = 4.0;
    recipe.key_growth = rng.pick(std::vector<double>{4.0, 30.0, 30.0, 100.0});
    // F16's bound is near what products of tensor cores, which cut sums off, leave of logits in the
    // thousands.
    if (recipe.shape.kv_type == DType::f16) recipe.key_growth = std::min(recipe.key_growth, 30.0);
    return recipe;
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, ShortSteps, ::testing::Range(0, 16));
INSTANTIATE_TEST_SUITE_P(Seeds, LongSteps, ::testing::Range(0, 4));
INSTANTIATE_TEST_SUITE_P(Seeds, GrowingLogits, ::testing::Range(0, 8));

}  // namespace
}  // namespace headwise::conformance
