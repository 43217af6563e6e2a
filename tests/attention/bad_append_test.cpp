// Bad input to Backend::append_kv: an error that names the field, and nothing written.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "headwise/error.h"
#include "headwise/registry.h"

namespace headwise {
namespace {

constexpr std::int64_t kPages = 6;
constexpr int kHeads = 2;
constexpr int kPage = 4;
constexpr int kDim = 8;

/// A small append, correct until a test spoils a field.
struct World {
  explicit World(DType kv_type = DType::f32)
      : shape{.q_heads = 4,
              .kv_heads = kHeads,
              .head_dim_qk = kDim,
              .head_dim_v = kDim,
              .kv_type = kv_type,
              .fp8_scale = ScaleGranularity::kv_head} {
    step.q_lens = q_lens;
    step.kv_lens = kv_lens;
    step.tables = {.page_size = kPage,
                   .pool_pages = kPages,
                   .columns = 3,
                   .pages = pages.data(),
                   .request_stride = 3};
    args.k = args.v = dense(numbers.data(), DType::f32, {4, kHeads, kDim});
    args.cache.k = pool(k);
    args.cache.v = pool(v);
    if (kv_type == DType::i8)
      args.cache.k_scale = args.cache.v_scale =
          dense(static_cast<void*>(token_scales.data()), DType::f32, {kPages, kHeads, kPage});
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  MutableTensorView pool(std::vector<float>& memory) const {
    return dense(static_cast<void*>(memory.data()), shape.kv_type, {kPages, kHeads, kPage, kDim});
  }
  void append() const { Registry::builtin().find("cpu-portable").append_kv(shape, step, args); }
  bool untouched() const {
    const auto same = [](float number) { return number == kUntouched; };
    return std::ranges::all_of(k, same) && std::ranges::all_of(v, same) &&
           std::ranges::all_of(token_scales, same) && saturated == 0;
  }

  static constexpr float kUntouched = -77.0F;
  AttentionShape shape;
  StepBatch step;
  AppendArgs args;
  std::vector<std::int32_t> q_lens = {3, 1};
  std::vector<std::int32_t> kv_lens = {5, 9};
  std::vector<std::int32_t> pages = {1, 0, -9, 4, 99, 5};  // what is not written to may be anything
  std::vector<std::int32_t> lens;
  std::vector<std::int64_t> starts;
  std::vector<float> numbers = std::vector<float>(1000, 0.5F);
  std::vector<float> k = std::vector<float>(kPages * kHeads * kPage * kDim, kUntouched);
  std::vector<float> v = k;
  std::vector<float> token_scales = std::vector<float>(kPages * kHeads * kPage, kUntouched);
  std::vector<float> fp8_scales = {0.5F, 0.25F};
  std::uint64_t saturated = 0;
};

void expect_error(World& world, const std::string& text,
                  ErrorCode code = ErrorCode::invalid_input) {
  try {
    world.append();
    ADD_FAILURE() << "no error about " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos)
        << error.what() << " does not say " << text;
  }
  EXPECT_TRUE(world.untouched()) << text;
}

template <class Spoil>
void expect_refused(const std::string& text, const Spoil& spoil, DType kv_type = DType::f32) {
  World world(kv_type);
  spoil(world);
  expect_error(world, text);
}

TEST(BadAppend, TheWorldIsGoodBeforeItIsSpoiled) {
  for (const DType type : {DType::f32, DType::f8e4m3, DType::i8}) {
    World world(type);
    world.append();
    EXPECT_FALSE(world.untouched());
  }
}

TEST(BadAppend, NewRows) {
  expect_refused("new k is absent", [](World& w) { w.args.k = {}; });
  expect_refused("new k.dtype", [](World& w) { w.args.k.dtype = DType::i8; });
  expect_refused("new k.sizes[0] is 5", [](World& w) { w.args.k.sizes[0] = 5; });
  expect_refused("new k.sizes[1]", [](World& w) { w.args.k.sizes[1] = 4; });
  expect_refused("new k.sizes[2]", [](World& w) { w.args.k.sizes[2] = 7; });
  expect_refused("new k.strides[2]", [](World& w) { w.args.k.strides[2] = 2; });
  expect_refused("new v is absent", [](World& w) { w.args.v = {}; });
  expect_refused("new v.dtype", [](World& w) { w.args.v.dtype = DType::bf16; });
  expect_refused("new v.sizes[0]", [](World& w) { w.args.v.sizes[0] = 3; });
  expect_refused("new v.device", [](World& w) { w.args.v.device.type = DeviceType::cuda; });
  expect_refused("new v is given", [](World& w) {
    w.shape.v_is_k_prefix = true;
    w.args.cache.v = {};
  });
}

TEST(BadAppend, Cache) {
  expect_refused("k.dtype", [](World& w) { w.args.cache.k.dtype = DType::bf16; });
  expect_refused("k.sizes[2]", [](World& w) { w.step.tables.page_size = 5; });
  expect_refused("k.sizes[0] is 6; tables.pool_pages is 7",
                 [](World& w) { w.step.tables.pool_pages = 7; });
  expect_refused("k.strides let elements overlap",
                 [](World& w) { w.args.cache.k.strides[2] = kDim - 1; });
  expect_refused("v.strides let elements overlap", [](World& w) { w.args.cache.v.strides[1] = 0; });
  expect_refused("v is absent", [](World& w) { w.args.cache.v = {}; });
  expect_refused("k.device", [](World& w) {
    w.args.cache.k.device = w.args.cache.v.device = {DeviceType::cuda, 0};
  });
  expect_refused(
      "k_scale is absent", [](World& w) { w.args.cache.k_scale = {}; }, DType::i8);
  expect_refused(
      "v_scale.strides let elements overlap", [](World& w) { w.args.cache.v_scale.strides[0] = 1; },
      DType::i8);
  expect_refused("k_scale is given", [](World& w) {
    w.args.cache.k_scale =
        dense(static_cast<void*>(w.token_scales.data()), DType::f32, {kPages, kHeads, kPage});
  });
}

TEST(BadAppend, Places) {
  expect_refused("q_lens[0] is 3; with kv_lens[0] 2", [](World& w) {
    w.lens = {2, 9};
    w.step.kv_lens = w.lens;
  });
  expect_refused("kv_lens has 1", [](World& w) { w.step.kv_lens = {w.kv_lens.data(), 1}; });
  expect_refused("block table entry 2 of request 1 is 6", [](World& w) { w.pages[5] = 6; });
  expect_refused("block table entry 0 of request 0 is -1", [](World& w) { w.pages[0] = -1; });
  expect_refused("block table entry 1 of request 0 is 6", [](World& w) { w.pages[1] = 6; });
  expect_refused("tables.columns is 2", [](World& w) { w.step.tables.columns = 2; });
  expect_refused("tables.pages is null", [](World& w) { w.step.tables.pages = nullptr; });
  expect_refused("tables.device", [](World& w) { w.step.tables.device = {DeviceType::cuda, 0}; });
  expect_refused("device_lengths",
                 [](World& w) { w.step.device_lengths.kv_lens = w.kv_lens.data(); });
  expect_refused("first_rows are given", [](World& w) { w.args.first_rows = w.q_lens.data(); });
  expect_refused("kv_start[1] is 2", [](World& w) {
    w.step.layout = KvLayout::packed;
    w.starts = {0, 2};
    w.step.kv_start = w.starts;
    w.step.packed_tokens = 10;
    w.args.cache.k = w.args.cache.v =
        dense(static_cast<void*>(w.k.data()), DType::f32, {10, kHeads, kDim});
  });
}

TEST(BadAppend, Fp8Scales) {
  for (const float bad : {0.0F, std::numeric_limits<float>::infinity(), NAN}) {
    expect_refused(
        "k_scale[1]",
        [&](World& w) {
          w.fp8_scales[1] = bad;
          w.args.k_scale = w.fp8_scales.data();
          w.args.saturated = &w.saturated;
        },
        DType::f8e4m3);
    expect_refused(
        "v_scale[0]",
        [&](World& w) {
          w.fp8_scales[0] = bad;
          w.args.v_scale = w.fp8_scales.data();
        },
        DType::f8e4m3);
  }
}

TEST(BadAppend, AnotherDeviceIsNotPossible) {
  World world;
  const Device gpu{DeviceType::cuda, 0};
  world.args.k.device = world.args.v.device = gpu;
  world.args.cache.k.device = world.args.cache.v.device = gpu;
  world.step.tables.device = gpu;
  expect_error(world, "tensors are on cuda:0", ErrorCode::not_possible);
}

}  // namespace
}  // namespace headwise
