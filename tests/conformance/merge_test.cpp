// A request's keys in parts, each computed alone and merged, equal the whole.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headwise/merge.h"
#include "tests/conformance/every_backend.h"
#include "tests/conformance/pair_coverage.h"

namespace headwise::conformance {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// Keys [from, to) of each request of a packed case, as a step of its own.
struct Part {
  std::vector<std::int32_t> kv_lens, q_start;
  std::vector<std::int64_t> kv_start;
  Outputs outputs;
};

/// Cuts every request's keys at random places; some parts are empty.
std::vector<Part> cut(const Case& c, const StepBatch& whole, int parts, Rng& rng) {
  std::vector<Part> result;
  for (int i = 0; i < parts; ++i) result.push_back({{}, {}, {}, exact_outputs(c)});
  for (std::size_t r = 0; r < c.recipe().q_lens.size(); ++r) {
    const std::int32_t keys = c.recipe().kv_lens[r];
    std::vector<std::int64_t> cuts = {0, keys};
    for (int i = 1; i < parts; ++i) cuts.push_back(rng.chance(3) ? 0 : rng.between(0, keys));
    std::sort(cuts.begin(), cuts.end());
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i].kv_lens.push_back(static_cast<std::int32_t>(cuts[i + 1] - cuts[i]));
      result[i].kv_start.push_back(whole.kv_start[r] + cuts[i]);
      // Slots of a part count from 0, so its queries move by what lies before.
      result[i].q_start.push_back(static_cast<std::int32_t>(c.recipe().start_of(r) - cuts[i]));
    }
  }
  return result;
}

void compute(const Backend& backend, const Case& c, Part& part) {
  AttentionShape shape = c.shape();
  shape.sinks = false;
  StepBatch step = c.step(part.outputs.out, part.outputs.lse);
  step.kv_lens = part.kv_lens;
  step.prefix_group = step.prefix_tokens = {};  // parts cut it
  step.kv_start = part.kv_start;
  step.q_start = part.q_start;
  RunArgs args = c.args();
  args.sinks = nullptr;
  run_step(backend, shape, step, c.kv(), args, c.recipe().options);
}

std::vector<PartialResult> results_of(std::vector<Part>& parts) {
  std::vector<PartialResult> results;
  for (Part& part : parts) results.push_back({part.outputs.out.view(), part.outputs.lse.view()});
  return results;
}

Recipe random_recipe(Rng& rng) {
  Spec spec = random_spec(rng);
  while (!spec.is(kPage, "packed")) spec = random_spec(rng);
  return make_recipe(spec, rng);
}

TEST(Merge, PartsEqualTheWhole) {
  for (std::uint64_t i = 0; i < 60; ++i) {
    Rng rng(2024, i);
    const Case c(random_recipe(rng));
    const Outputs exact = reference_answer(c);
    const int parts = static_cast<int>(i % 5) + 1;
    for_each_able_backend(c, [&](const Backend& backend) {
      Outputs merged = own_outputs(c);
      const StepBatch whole = c.step(merged.out, merged.lse);
      auto pieces = cut(c, whole, parts, rng);
      for (Part& piece : pieces) compute(backend, c, piece);
      merge(results_of(pieces), c.args().sinks, whole.out, whole.lse);
      EXPECT_EQ(fault_in(c, exact, merged), "") << parts << " parts, round " << i;
      EXPECT_TRUE(merged.out.gaps_untouched());
    });
  }
}

/// Parts of two tokens, three heads and five dimensions.
struct Piece {
  PoisonedTensor out{DType::f32, {2, 3, 5}, Memory::padded};
  PoisonedTensor lse{DType::f32, {2, 3}, Memory::swapped};

  PartialResult view() const { return {out.view(), lse.view()}; }
  void empty() {
    for (int token = 0; token < 2; ++token)
      for (int head = 0; head < 3; ++head) lse.store(lse.offset_of(token, head), -kInf);
  }
  void fill(Rng& rng, float lse_base) {
    for (int token = 0; token < 2; ++token)
      for (int head = 0; head < 3; ++head) {
        out.store_random(out.offset_of(token, head), 5, rng, 1.0);
        lse.store(lse.offset_of(token, head),
                  lse_base + static_cast<float>(rng.uniform(-3.0, 3.0)));
      }
  }
};

Outputs merged(const std::vector<PartialResult>& parts, const float* sinks = nullptr) {
  Outputs outputs{PoisonedTensor(DType::f32, {2, 3, 5}, Memory::dense),
                  PoisonedTensor(DType::f32, {2, 3}, Memory::dense)};
  merge(parts, sinks, outputs.out.mutable_view(), outputs.lse.mutable_view());
  return outputs;
}

TEST(Merge, AnEmptyPartReturnsTheOtherBitForBit) {
  Rng rng(3);
  Piece full;
  Piece empty;
  empty.empty();  // its out stays NaN
  for (const float base : {0.0F, -3e5F, 3e5F, 80.0F}) {
    full.fill(rng, base);
    const std::vector<std::vector<PartialResult>> orders = {
        {full.view()},
        {full.view(), empty.view()},
        {empty.view(), full.view()},
        {empty.view(), full.view(), empty.view(), empty.view()}};
    for (const auto& order : orders) {
      const Outputs got = merged(order);
      EXPECT_EQ(got.out.bits(), full.out.bits()) << order.size() << " parts, lse " << base;
      EXPECT_EQ(got.lse.bits(), full.lse.bits()) << order.size() << " parts, lse " << base;
    }
  }
}

TEST(Merge, PartsThatAreAllEmptyGiveAnEmptyOne) {
  Piece empty;
  empty.empty();
  const float sinks[] = {0.5F, -40.0F, 7.0F};
  for (const std::size_t parts : {1, 2, 4}) {
    const std::vector<PartialResult> views(parts, empty.view());
    EXPECT_EQ(merged(views).out.values(), std::vector<float>(30, 0.0F));
    EXPECT_EQ(merged(views).lse.values(), std::vector<float>(6, -kInf));
    EXPECT_EQ(merged(views, sinks).out.values(), std::vector<float>(30, 0.0F));
    EXPECT_EQ(merged(views, sinks).lse.values(),
              (std::vector<float>{0.5F, -40.0F, 7.0F, 0.5F, -40.0F, 7.0F}));
  }
}

TEST(Merge, WeighsByTheExponentialOfTheLse) {
  Piece a;
  Piece b;
  for (int token = 0; token < 2; ++token)
    for (int head = 0; head < 3; ++head) {
      for (int d = 0; d < 5; ++d) {
        a.out.store(a.out.offset_of(token, head) + d, 1.0F);
        b.out.store(b.out.offset_of(token, head) + d, 5.0F);
      }
      a.lse.store(a.lse.offset_of(token, head), std::log(3.0F));
      b.lse.store(b.lse.offset_of(token, head), 0.0F);
    }
  for (const float value : merged({a.view(), b.view()}).out.values()) EXPECT_NEAR(value, 2.0, 1e-6);
  for (const float value : merged({a.view(), b.view()}).lse.values())
    EXPECT_NEAR(value, std::log(4.0), 1e-6);
  const float sinks[] = {std::log(4.0F), std::log(4.0F), std::log(4.0F)};
  for (const float value : merged({b.view(), a.view()}, sinks).out.values())
    EXPECT_NEAR(value, 1.0, 1e-6);
  for (const float value : merged({b.view(), a.view()}, sinks).lse.values())
    EXPECT_NEAR(value, std::log(8.0), 1e-6);
}

TEST(Merge, ANaNIsNotTurnedIntoANumber) {
  Rng rng(4);
  Piece a;
  Piece b;
  a.fill(rng, 0.0F);
  b.fill(rng, 0.0F);
  b.lse.store(b.lse.offset_of(1, 2), std::numeric_limits<float>::quiet_NaN());
  for (const auto& order : {std::vector{a.view(), b.view()}, std::vector{b.view(), a.view()}}) {
    const Outputs got = merged(order);
    EXPECT_TRUE(std::isnan(got.lse.load(got.lse.offset_of(1, 2))));
    EXPECT_TRUE(std::isnan(got.out.load(got.out.offset_of(1, 2))));
    EXPECT_FALSE(std::isnan(got.out.load(got.out.offset_of(1, 1))));
  }
}

TEST(Merge, WritesNarrowTypesAndNoLseWhereNoneIsWanted) {
  Rng rng(5);
  Piece a;
  Piece b;
  a.fill(rng, 0.0F);
  b.fill(rng, 1.0F);
  const auto exact = merged({a.view(), b.view()}).out.values();
  for (const DType type : {DType::f16, DType::bf16}) {
    PoisonedTensor out(type, {2, 3, 5}, Memory::padded);
    const std::vector<PartialResult> parts = {a.view(), b.view()};
    merge(parts, nullptr, out.mutable_view());
    EXPECT_TRUE(out.gaps_untouched());
    const auto got = out.values();
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], exact[i],
                  std::fabs(exact[i]) * (type == DType::f16 ? 0x1p-11 : 0x1p-8) + 1e-7);
  }
}

}  // namespace
}  // namespace headwise::conformance
