// What backends append to a cache, against the formats' definitions.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "headwise/error.h"
#include "headwise/registry.h"
#include "tests/conformance/append_case.h"
#include "tests/conformance/runner.h"

namespace headwise::conformance {
namespace {

/// Appends and compares; ends the program where the GPU broke: nothing after it could run.
void expect_append(const Backend& backend, const AppendRecipe& recipe, bool counted) {
  const std::string where = std::string(backend.name()) + ": " + to_string(recipe);
  SCOPED_TRACE(where);
  const AppendCase c(recipe);
  std::uint64_t count = 0;
  const Cache expected = c.expected(count);
  Cache got = c.cache();
  std::uint64_t saturated = 1000;
  try {
    c.append(backend, got, counted ? &saturated : nullptr);
  } catch (const DeviceFault& fault) {
    std::printf("the GPU failed: %s\n%s\n", fault.what(), where.c_str());
    std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
  }
  ASSERT_EQ(difference(got, expected), "");
  ASSERT_EQ(saturated, 1000 + (counted ? count : 0));
}

std::int64_t number_in(const char* variable, std::int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::atoll(text);
}

/// Backends of one kind of device share their code, so that they take turns.
TEST(Append, WritesTheFormatsBitsAndNothingElse) {
  const std::int64_t cases = number_in("HEADWISE_CASES", 400);
  const auto seed = static_cast<std::uint64_t>(number_in("HEADWISE_SEED", 1));
  const auto backends = appending_backends();
  for (std::size_t i = 0; i < static_cast<std::size_t>(cases) && !HasFatalFailure(); ++i) {
    Rng rng(seed, i);
    expect_append(*backends[i % backends.size()], random_append(rng), i % 3 > 0);
  }
}

/// In pieces of 16 bytes and number by number.
TEST(Append, EveryPairOfTypes) {
  AppendRecipe recipe{.shape = {.q_heads = 8,
                                .kv_heads = 8,
                                .head_dim_qk = 128,
                                .head_dim_v = 128,
                                .fp8_scale = ScaleGranularity::kv_head},
                      .q_lens = {70, 1, 0, 5},
                      .kv_lens = {70, 40, 3, 21},
                      .with_scales = true};
  const auto backends = appending_backends();
  for (const DType from : {DType::f32, DType::f16, DType::bf16})
    for (const DType to : {DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::i8})
      for (const Memory memory : {Memory::dense, Memory::padded}) {
        recipe.new_type = from;
        recipe.shape.kv_type = to;
        recipe.k_memory = recipe.v_memory = recipe.new_memory = recipe.scale_memory = memory;
        expect_append(*backends[recipe.seed++ % backends.size()], recipe, true);
      }
}

/// One request's bits do not depend on the requests beside it: more of them than one launch takes.
TEST(Append, ManyRequests) {
  AppendRecipe recipe{.shape = {.q_heads = 2, .kv_heads = 2, .head_dim_qk = 64, .head_dim_v = 64},
                      .page_size = 3};
  for (int r = 0; r < 1000; ++r) {
    recipe.q_lens.push_back(r % 7 == 3 ? 0 : 1 + r % 3);
    recipe.kv_lens.push_back(recipe.q_lens.back() + r % 11);
  }
  for (const Backend* backend : appending_backends()) expect_append(*backend, recipe, false);
}

/// Attention over what was appended, with one query head a KV head that looks at all keys.
Outputs attend(const Backend& backend, const AppendCase& c, const Cache& cache, DType q_type) {
  AttentionShape shape = c.recipe().shape;
  shape.q_type = q_type;
  const auto tokens = static_cast<std::int64_t>(c.recipe().q_lens[0]);
  PoisonedTensor q(q_type, {tokens, shape.q_heads, shape.head_dim_qk}, Memory::dense);
  Rng rng(3);
  for (std::int64_t token = 0; token < tokens; ++token)
    for (int head = 0; head < shape.q_heads; ++head)
      q.store_random(q.offset_of(token, head), shape.head_dim_qk, rng, 1.0);
  Outputs outputs{
      PoisonedTensor(DType::f32, {tokens, shape.q_heads, shape.head_dim_v}, Memory::dense),
      PoisonedTensor(DType::f32, {tokens, shape.q_heads}, Memory::dense)};
  StepBatch step = c.step();
  step.q = q.view();
  step.out = outputs.out.mutable_view();
  step.lse = outputs.lse.mutable_view();
  Cache unused = c.cache();
  const AppendArgs scales = c.args(unused);
  RunArgs args;
  args.k_scale = scales.k_scale;
  args.v_scale = scales.v_scale;
  run_step(backend, shape, step, cache.view(), args);
  return outputs;
}

/// |got - exact| / |exact|.
double distance(const Outputs& got, const Outputs& exact) {
  const std::vector<float> a = got.out.values();
  const std::vector<float> b = exact.out.values();
  double error = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    error += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  return std::sqrt(error / norm);
}

AppendRecipe attended(DType kv_type) {
  return {.shape = {.q_heads = 4,
                    .kv_heads = 4,
                    .head_dim_qk = 128,
                    .head_dim_v = 128,
                    .kv_type = kv_type,
                    .fp8_scale = ScaleGranularity::kv_head},
          .q_lens = {90},
          .kv_lens = {90},
          .table_heads = 4,
          .with_scales = true,
          .ordinary_numbers = true};
}

/// What an append writes is what attention reads: it differs from exact attention over the new
/// numbers themselves by no more than the format's rounding.
TEST(Append, IsWhatAttentionReads) {
  const Backend& reference = Registry::builtin().find("reference");
  AppendRecipe recipe = attended(DType::f32);
  const AppendCase exact_case(recipe);
  Cache exact_cache = exact_case.cache();
  exact_case.append(reference, exact_cache, nullptr);
  const Outputs exact = attend(reference, exact_case, exact_cache, DType::bf16);
  const std::pair<DType, double> bounds[] = {
      {DType::f16, 1e-3}, {DType::bf16, 6e-3}, {DType::f8e4m3, 6e-2}, {DType::i8, 2e-2}};
  for (const Backend* backend : appending_backends())
    for (const auto& [type, bound] : bounds) {
      SCOPED_TRACE(std::string(backend->name()) + " " + std::string(name_of(type)));
      recipe = attended(type);
      const AppendCase c(recipe);
      ASSERT_EQ(c.new_row(true, 5, 2), exact_case.new_row(true, 5, 2));
      Cache appended = c.cache();
      c.append(*backend, appended, nullptr);
      EXPECT_LT(distance(attend(reference, c, appended, DType::bf16), exact), bound);

      std::uint64_t saturated = 0;
      const Cache filled = c.expected(saturated);
      EXPECT_EQ(saturated, 0U);
      const DType q_type = type == DType::f16 ? DType::f16 : DType::bf16;
      try {
        EXPECT_EQ(
            difference(attend(*backend, c, appended, q_type), attend(*backend, c, filled, q_type)),
            "");
      } catch (const Error& error) {  // a row that is not here; the append was judged
        ASSERT_EQ(error.code(), ErrorCode::not_possible);
        std::printf("%s refused: %s\n", backend->name().data(), error.what());
      }
    }
}

}  // namespace
}  // namespace headwise::conformance
