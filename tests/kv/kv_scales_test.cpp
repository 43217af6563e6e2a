// Scales of f8e4m3: when they may be set, what saturates under them, and how they are found.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "headwise/error.h"
#include "headwise/kv_cache.h"
#include "headwise/kv_calibration.h"
#include "headwise/registry.h"
#include "tests/conformance/random.h"
#include "tests/kv/new_rows.h"

namespace headwise {
namespace {

constexpr int kLayers = 2;
constexpr int kHeads = 3;
constexpr int kPageSize = 8;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

const Backend& writer() { return Registry::builtin().find("cpu-portable"); }

LayerGroup fp8_group(ScaleGranularity scale = ScaleGranularity::tensor) {
  return {.shape = {.q_heads = 2 * kHeads,
                    .kv_heads = kHeads,
                    .head_dim_qk = 20,
                    .head_dim_v = 12,
                    .kv_type = DType::f8e4m3,
                    .fp8_scale = scale},
          .layers = kLayers};
}

KvCacheOptions options_of(const LayerGroup& group) {
  KvCacheOptions options;
  options.groups = {{.group = group, .pages = 24}};
  options.page_size = kPageSize;
  options.max_sequences = 4;
  options.max_tokens = 80;
  return options;
}

/// Every byte of a layer's K and V.
std::vector<std::byte> bytes_of(const KvCache& cache, int layer) {
  std::vector<std::byte> all;
  const KvView kv = cache.layer(0, layer);
  for (const TensorView* view : {&kv.k, &kv.v}) {
    const auto* data = static_cast<const std::byte*>(view->data);
    all.insert(all.end(), data, data + view->sizes[0] * view->strides[0] * size_of(view->dtype));
  }
  return all;
}

TEST(Fp8Scales, AppendWithoutThemFailsAndChangesNothing) {
  const LayerGroup group = fp8_group();
  KvCache cache(options_of(group));
  const SequenceId id = cache.create();
  KvStep open = cache.begin(std::vector<KvRequest>{{.sequence = id, .new_tokens = 3}});
  cache.set_scales(0, 0, std::vector{0.5F}, std::vector{0.5F});  // of one layer, with pages held
  const NewRows rows = constant_rows(group.shape, 3, 1000.0F);
  std::memset(cache.mutable_layer(0, 1).k.data, 0x35, 1000);
  const auto before = bytes_of(cache, 1);
  EXPECT_THROW(open.append_kv(writer(), 0, 1, rows.k_view(group.shape), rows.v_view(group.shape)),
               Error);
  EXPECT_EQ(bytes_of(cache, 1), before);
  EXPECT_EQ(cache.saturated(0), 0U);
  EXPECT_TRUE(cache.has_scales(0, 0));
  EXPECT_FALSE(cache.has_scales(0, 1));
  open.append_kv(writer(), 0, 0, rows.k_view(group.shape), rows.v_view(group.shape));
  EXPECT_GT(cache.saturated(0), 0U);
}

TEST(Fp8Scales, AreFrozenWhileAPageIsHeld) {
  const LayerGroup group = fp8_group();
  KvCache cache(options_of(group));
  const std::vector<float> one{1.0F}, two{2.0F};
  cache.set_scales(0, 0, one, one);
  cache.set_scales(0, 0, two, one);  // nothing is held yet
  cache.set_scales(0, 1, one, one);
  const SequenceId id = cache.create();
  const std::vector<std::int32_t> tokens(kPageSize);
  KvStep open = cache.begin(
      std::vector<KvRequest>{{.sequence = id, .new_tokens = kPageSize, .tokens = tokens}});
  const NewRows rows = constant_rows(group.shape, kPageSize, 1.0F);
  open.append_kv(writer(), 0, 0, rows.k_view(group.shape), rows.v_view(group.shape));
  EXPECT_THROW(cache.set_scales(0, 0, one, two), Error);
  open.commit();
  EXPECT_THROW(cache.set_scales(0, 0, one, two), Error);
  cache.free(id);  // the prefix cache still holds the page
  EXPECT_THROW(cache.set_scales(0, 0, one, two), Error);
  EXPECT_EQ(*cache.k_scale(0, 0), 2.0F);
  EXPECT_EQ(*cache.v_scale(0, 0), 1.0F);
  cache.clear_prefixes();
  cache.set_scales(0, 0, one, two);
  EXPECT_EQ(*cache.k_scale(0, 0), 1.0F);
  EXPECT_EQ(*cache.v_scale(0, 0), 2.0F);
}

TEST(Fp8Scales, RefusesWrongOnesAndKeepsTheOld) {
  KvCache cache(options_of(fp8_group(ScaleGranularity::kv_head)));
  const std::vector<float> good{1.0F, 2.0F, 3.0F};
  cache.set_scales(0, 0, good, good);
  for (const float bad : {0.0F, -1.0F, kInfinity, kNaN}) {
    const std::vector<float> other{4.0F, 5.0F, bad};
    EXPECT_THROW(cache.set_scales(0, 0, other, good), Error) << bad;
    EXPECT_THROW(cache.set_scales(0, 0, good, other), Error) << bad;
  }
  EXPECT_THROW(cache.set_scales(0, 0, std::vector{1.0F}, good), Error);
  EXPECT_THROW(cache.set_scales(0, 0, good, {}), Error);
  EXPECT_THROW(cache.set_scales(1, 0, good, good), Error);
  EXPECT_THROW(cache.set_scales(0, kLayers, good, good), Error);
  EXPECT_THROW(cache.set_scales(0, -1, good, good), Error);
  for (int head = 0; head < 3; ++head) {
    EXPECT_EQ(cache.k_scale(0, 0)[head], good[std::size_t(head)]);
    EXPECT_EQ(cache.v_scale(0, 0)[head], good[std::size_t(head)]);
  }
  LayerGroup plain = fp8_group();
  plain.shape.kv_type = DType::bf16;
  KvCache halves(options_of(plain));
  EXPECT_THROW(halves.set_scales(0, 0, std::vector{1.0F}, std::vector{1.0F}), Error);
  EXPECT_EQ(halves.k_scale(0, 0), nullptr);
  EXPECT_EQ(halves.saturated(0), 0U);
}

/// Appends rows as a new sequence's layer, and rolls back: what saturated has saturated.
std::uint64_t saturated_by(KvCache& cache, int layer, const NewRows& rows) {
  const AttentionShape& s = cache.options().groups[0].group.shape;
  const std::uint64_t before = cache.saturated(0);
  const SequenceId id = cache.create();
  KvStep open = cache.begin(
      std::vector<KvRequest>{{.sequence = id, .new_tokens = std::int32_t(rows.tokens)}});
  open.append_kv(writer(), 0, layer, rows.k_view(s), rows.v_view(s));
  const std::uint64_t after = cache.saturated(0);
  open.rollback();
  cache.free(id);
  return after - before;
}

/// Fills rows with numbers within and beyond what scales let through; returns how many are beyond.
std::uint64_t fill(std::vector<float>& numbers, int dim, const float* scales, bool is_one_scale,
                   conformance::Rng& rng) {
  std::uint64_t beyond = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t head = i / std::size_t(dim) % std::size_t(kHeads);
    const double most = 448.0 * double(scales[is_one_scale ? 0 : head]);
    const bool is_beyond = rng.chance(7);
    const double share = is_beyond ? rng.uniform(1.0001, 50.0) : rng.uniform(0.0, 0.9999);
    numbers[i] = float(rng.chance(2) ? most * share : -most * share);
    if (is_beyond && rng.chance(5)) numbers[i] = rng.chance(2) ? kInfinity : -kInfinity;
    if (!is_beyond && rng.chance(9)) numbers[i] = kNaN;
    if (is_beyond) ++beyond;
  }
  return beyond;
}

TEST(Fp8Saturation, IsCountedToTheNumber) {
  conformance::Rng rng(3);
  for (const auto scale : {ScaleGranularity::tensor, ScaleGranularity::kv_head}) {
    const bool is_one = scale == ScaleGranularity::tensor;
    const LayerGroup group = fp8_group(scale);
    KvCache cache(options_of(group));
    for (int layer = 0; layer < kLayers; ++layer) {
      const std::vector<float> k{0.01F, 0.3F, 7.0F}, v{2.0F, 0.002F, 0.5F};
      const std::size_t count = is_one ? 1 : 3;
      cache.set_scales(0, layer, std::span(k).first(count), std::span(v).first(count));
      NewRows rows = constant_rows(group.shape, 20, 0.0F);
      const std::uint64_t beyond =
          fill(rows.k, group.shape.head_dim_qk, cache.k_scale(0, layer), is_one, rng) +
          fill(rows.v, group.shape.head_dim_v, cache.v_scale(0, layer), is_one, rng);
      EXPECT_EQ(saturated_by(cache, layer, rows), beyond);
    }
  }
}

/// A calibration that saw one token's K and V in every layer, all zeros but for K's first number.
KvCalibration seen(const LayerGroup& group, float value) {
  KvCalibration calibration(group);
  NewRows rows = constant_rows(group.shape, 1, 0.0F);
  rows.k[0] = value;
  for (int layer = 0; layer < group.layers; ++layer)
    calibration.observe(layer, rows.k_view(group.shape), rows.v_view(group.shape));
  return calibration;
}

TEST(Calibration, ANumberThatWasSeenDoesNotSaturate) {
  const LayerGroup group = fp8_group();
  conformance::Rng rng(5);
  int saturated = 0;
  float example = 0.0F;
  for (int i = 0; i < 2000; ++i) {
    const auto value = float(std::exp2(rng.uniform(-20.0, 20.0)));
    const float scale = seen(group, value).k_scales(0)[0];
    EXPECT_NEAR(value / scale, 448.0F, 1e-4F);
    if (value / scale > 448.0F) {  // what append_kv counts
      ++saturated;
      example = value;
    }
  }
  EXPECT_EQ(saturated, 0) << "of 2000, one is " << example;
  for (const float value :
       {std::numeric_limits<float>::max(), std::numeric_limits<float>::min(),
        600 * std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::denorm_min()})
    EXPECT_LE(value / seen(group, value).k_scales(0)[0], 448.0F) << value;
  if (saturated == 0) return;
  KvCache cache(options_of(group));
  seen(group, example).apply(cache, 0);
  EXPECT_EQ(saturated_by(cache, 0, constant_rows(group.shape, 1, -example)), 0U);
}

TEST(Calibration, TakesTheGreatestMagnitudeToTheGreatestNumber) {
  for (const auto scale : {ScaleGranularity::tensor, ScaleGranularity::kv_head}) {
    const LayerGroup group = fp8_group(scale);
    const AttentionShape& s = group.shape;
    KvCalibration calibration(group);
    NewRows rows = constant_rows(s, 4, 0.25F);
    const auto k_at = [&](int token, int head, int i) -> float& {
      return rows.k[std::size_t((token * kHeads + head) * s.head_dim_qk + i)];
    };
    k_at(3, 0, 19) = -896.0F;
    k_at(0, 1, 0) = 448.0F;
    k_at(1, 1, 1) = kNaN;
    k_at(2, 2, 7) = kInfinity;
    k_at(2, 2, 8) = -kInfinity;
    for (float& v : rows.v) v = 0.0F;
    rows.v[std::size_t(s.head_dim_v)] = -kNaN;  // of head 1, zeros otherwise
    calibration.observe(1, rows.k_view(s), rows.v_view(s));
    k_at(3, 0, 19) = 5.0F;  // less than before
    calibration.observe(1, rows.k_view(s), rows.v_view(s));
    const bool is_one = scale == ScaleGranularity::tensor;
    EXPECT_EQ(calibration.k_scales(1),
              is_one ? std::vector{2.0F} : std::vector<float>({2.0F, 1.0F, 0.25F / 448.0F}));
    EXPECT_EQ(calibration.v_scales(1), std::vector<float>(is_one ? 1 : 3, 1.0F));
    EXPECT_THROW(calibration.k_scales(0), Error) << "layer 0 was not seen";
    EXPECT_THROW(calibration.v_scales(0), Error);
  }
}

TEST(Calibration, ReadsStridedHalves) {
  const LayerGroup group = fp8_group(ScaleGranularity::kv_head);
  const AttentionShape& s = group.shape;
  // Rows of 8 elements more than are a token's; what lies between is no number of K's.
  std::vector<std::uint16_t> k(std::size_t(2 * (kHeads * s.head_dim_qk + 8)), 0x7f00);
  TensorView view = dense(k.data(), DType::bf16, {2, kHeads, s.head_dim_qk});
  view.strides[0] += 8;
  for (std::int64_t token = 0; token < 2; ++token)
    for (int i = 0; i < kHeads * s.head_dim_qk; ++i)
      k[std::size_t(token * view.strides[0] + i)] = 0x3f80;  // 1
  k[std::size_t(view.strides[0] + s.head_dim_qk)] = 0xc000;  // -2, of head 1
  const NewRows rows = constant_rows(s, 2, 3.0F);
  KvCalibration calibration(group);
  calibration.observe(0, view, rows.v_view(s));
  EXPECT_EQ(calibration.k_scales(0), (std::vector{1.0F / 448, 2.0F / 448, 1.0F / 448}));
}

TEST(Calibration, RefusesWrongShapesAndLearnsNothing) {
  const LayerGroup group = fp8_group();
  const AttentionShape& s = group.shape;
  KvCalibration calibration(group);
  const NewRows rows = constant_rows(s, 30, 9.0F);
  const auto k = rows.k_view(s);
  const auto v = rows.v_view(s);
  const auto view = [&](DType type, std::initializer_list<std::int64_t> sizes) {
    return dense(rows.k.data(), type, sizes);
  };
  EXPECT_THROW(calibration.observe(-1, k, v), Error);
  EXPECT_THROW(calibration.observe(kLayers, k, v), Error);
  EXPECT_THROW(calibration.observe(0, k, {}), Error);
  EXPECT_THROW(calibration.observe(0, {}, v), Error);
  EXPECT_THROW(calibration.observe(0, v, k), Error);
  EXPECT_THROW(calibration.observe(0, view(DType::f32, {29, kHeads, 20}), v), Error);
  EXPECT_THROW(calibration.observe(0, view(DType::f32, {30, kHeads - 1, 20}), v), Error);
  EXPECT_THROW(calibration.observe(0, view(DType::f32, {30, kHeads, 19}), v), Error);
  EXPECT_THROW(calibration.observe(0, view(DType::f32, {30, kHeads * 20}), v), Error);
  EXPECT_THROW(calibration.observe(0, view(DType::i8, {30, kHeads, 20}), v), Error);
  EXPECT_THROW(calibration.observe(0, k, view(DType::f8e4m3, {30, kHeads, 12})), Error);
  EXPECT_THROW(calibration.k_scales(0), Error);
  calibration.observe(0, view(DType::f32, {0, kHeads, 20}), view(DType::f32, {0, kHeads, 12}));
  EXPECT_THROW(calibration.k_scales(0), Error) << "no token is none";
  EXPECT_THROW(calibration.k_scales(kLayers), Error);
  EXPECT_THROW(calibration.v_scales(-1), Error);
  KvCache cache(options_of(group));
  EXPECT_THROW(calibration.apply(cache, 0), Error);
  EXPECT_FALSE(cache.has_scales(0, 0));
  EXPECT_THROW(
      KvCalibration(
          {.shape = {.q_heads = 1, .kv_heads = 1, .head_dim_qk = 8, .head_dim_v = 8}, .layers = 1}),
      Error);
}

TEST(Calibration, IsAppliedToAllLayersOrNone) {
  LayerGroup group = fp8_group();
  KvCache cache(options_of(group));
  LayerGroup longer = group;
  ++longer.layers;
  EXPECT_THROW(seen(longer, 8.0F).apply(cache, 0), Error);
  EXPECT_FALSE(cache.has_scales(0, 0)) << "a calibration of another model";
  const LayerGroup by_head = fp8_group(ScaleGranularity::kv_head);
  EXPECT_THROW(seen(by_head, 8.0F).apply(cache, 0), Error);
  EXPECT_THROW(seen(group, 8.0F).apply(cache, 1), Error);
  seen(group, 448.0F).apply(cache, 0);
  for (int layer = 0; layer < kLayers; ++layer) {
    EXPECT_EQ(*cache.k_scale(0, layer), 1.0F);
    EXPECT_EQ(*cache.v_scale(0, layer), 1.0F);
  }
}

TEST(Calibration, OfAbsorbedMlaHasNoV) {
  LayerGroup group = fp8_group();
  group.shape.v_is_k_prefix = true;
  group.shape.kv_heads = 1;
  KvCalibration calibration(group);
  const NewRows rows = constant_rows(group.shape, 2, 448.0F);
  for (int layer = 0; layer < kLayers; ++layer)
    calibration.observe(layer, rows.k_view(group.shape), {});
  EXPECT_EQ(calibration.k_scales(0), std::vector{1.0F});
  KvCache cache(options_of(group));
  calibration.apply(cache, 0);
  EXPECT_TRUE(cache.has_scales(0, kLayers - 1));
}

}  // namespace
}  // namespace headwise
