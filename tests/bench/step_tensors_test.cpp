#include "bench/step_tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "attention/shape_spec.h"
#include "bench/random_fill.h"
#include "core/number_formats.h"

namespace headwise::bench {
namespace {

Workload ragged() {
  return {.suite = Suite::mixed, .lens = "test", .q_lens = {5, 1}, .kv_lens = {5, 37}};
}

TEST(StepTensorsTest, MakesAValidStepOfEveryFormat) {
  for (const char* text :
       {"q4:kv2:d16", "q4:kv2:d16:f32", "q4:kv2:d16:f16", "q4:kv2:d16:f8", "q4:kv2:d16:i8",
        "q4:kv2:d16:f8p", "q4:kv1:d24:v16:mla", "q4:kv2:d16:v8:sinks:w7"}) {
    const AttentionShape shape = parse_shape_spec(text).shape;
    StepTensors tensors(shape, ragged(), 16, 2, 3);
    EXPECT_NO_THROW(validate(shape, tensors.step())) << text;
    EXPECT_NO_THROW(validate(shape, tensors.kv(1), KvLayout::paged)) << text;
    EXPECT_EQ(tensors.args(0).sinks != nullptr, shape.sinks);
  }
}

TEST(StepTensorsTest, PagesAreShuffledAndUsedOnce) {
  const AttentionShape shape = parse_shape_spec("q1:kv1:d8").shape;
  Workload workload = ragged();
  workload.kv_lens = {5, 997};
  const StepTensors tensors(shape, workload, 4, 1, 3);
  std::set<std::int32_t> seen{tensors.table(0)[0], tensors.table(0)[1]};
  bool ordered = true;
  for (int i = 0; i < 250; ++i) {
    EXPECT_TRUE(seen.insert(tensors.table(1)[i]).second);
    ordered = ordered && (i == 0 || tensors.table(1)[i] > tensors.table(1)[i - 1]);
  }
  EXPECT_EQ(*seen.begin(), 0);
  EXPECT_EQ(*seen.rbegin(), 251);
  EXPECT_FALSE(ordered);
  EXPECT_EQ(tensors.table(0)[2], -1);  // past the request's last page
}

TEST(StepTensorsTest, TablesOfASharedPrefixBeginWithTheSamePages) {
  const AttentionShape shape = parse_shape_spec("q4:kv2:d16").shape;
  Workload workload{.suite = Suite::mixed,
                    .lens = "test",
                    .q_lens = {20, 1, 2},
                    .kv_lens = {20, 37, 30},
                    .prompts = 1,
                    .shared_prefix = 25};
  StepTensors tensors(shape, workload, 8, 1, 3);
  std::set<std::int32_t> seen;
  for (const auto& [request, pages] : {std::pair{0, 3}, {1, 5}, {2, 4}})
    seen.insert(tensors.table(request), tensors.table(request) + pages);
  EXPECT_EQ(seen.size(), 3U + 5U + 1U);  // three whole pages of the prefix are in both
  EXPECT_EQ(*seen.rbegin(), 8);
  EXPECT_TRUE(std::equal(tensors.table(1), tensors.table(1) + 3, tensors.table(2)));
  EXPECT_NE(tensors.table(1)[3], tensors.table(2)[3]);
  EXPECT_EQ(kv_bytes_a_copy(shape, workload, 8), 9 * 8 * 2 * 2 * 16 * 2);
  EXPECT_NO_THROW(validate(shape, tensors.step()));

  const std::int64_t requests[] = {1, 2};
  const StepTensors some = tensors.on_cpu(0, requests);
  EXPECT_TRUE(std::equal(some.table(1), some.table(1) + 3, some.table(2)));
  EXPECT_EQ(*std::max_element(some.table(1), some.table(1) + 5), 4);
}

TEST(StepTensorsTest, CopiesDifferAndSeedsRepeat) {
  const AttentionShape shape = parse_shape_spec("q4:kv2:d16").shape;
  const StepTensors one(shape, ragged(), 16, 2, 3);
  const StepTensors same(shape, ragged(), 16, 2, 3);
  const StepTensors other(shape, ragged(), 16, 2, 4);
  const auto equal = [](const TensorMemory& a, const TensorMemory& b) {
    return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size())) == 0;
  };
  EXPECT_TRUE(equal(one.q(1), same.q(1)));
  EXPECT_FALSE(equal(one.q(0), one.q(1)));
  EXPECT_FALSE(equal(one.q(0), other.q(0)));
}

TEST(StepTensorsTest, PoisonIsNaNInEveryOutputType) {
  for (const char* text : {"q4:kv2:d16", "q4:kv2:d16:f32", "q4:kv2:d16:f16"}) {
    const AttentionShape shape = parse_shape_spec(text).shape;
    StepTensors tensors(shape, ragged(), 16, 1, 3);
    tensors.poison(0);
    const auto* floats = tensors.out(0).as<float>();
    const auto* halves = tensors.out(0).as<std::uint16_t>();
    const float value = shape.out_type() == DType::f32   ? floats[5]
                        : shape.out_type() == DType::f16 ? f16_to_float(halves[5])
                                                         : bf16_to_float(halves[5]);
    EXPECT_TRUE(std::isnan(value)) << text;
  }
}

/// What a request's slot holds: a head's row of K or V, or its scale.
std::string slot(const StepTensors& tensors, int copy, const TensorView KvView::*view, int request,
                 int token) {
  const KvView all = tensors.kv(copy);
  const TensorView& cache = all.*view;
  const std::int64_t row = (cache.rank > 3 ? cache.sizes[3] : 1) * size_of(cache.dtype);
  const std::int64_t page = tensors.table(request)[token / tensors.page_size()];
  std::string bytes;
  for (std::int64_t head = 0; head < cache.sizes[1]; ++head)
    bytes.append(
        static_cast<const char*>(cache.data) +
            ((page * cache.sizes[1] + head) * cache.sizes[2] + token % tensors.page_size()) * row,
        static_cast<std::size_t>(row));
  return bytes;
}

TEST(StepTensorsTest, ACopyOnTheCpuHoldsTheSameNumbers) {
  Workload workload = ragged();
  workload.q_lens = {5, 1, 2};
  workload.kv_lens = {5, 37, 20};
  for (const char* text : {"q4:kv2:d16:i8", "q4:kv2:d5:v3:f8", "q4:kv2:d16:f32"}) {
    const StepTensors all(parse_shape_spec(text).shape, workload, 16, 2, 3);
    const std::vector<std::int64_t> requests{0, 2};
    const StepTensors some = all.on_cpu(1, requests);
    EXPECT_EQ(some.copies(), 1);
    EXPECT_EQ(some.kv(0).k.sizes[0], 1 + 2);
    EXPECT_EQ(
        std::memcmp(some.q(0).data(), all.q(1).data(), static_cast<std::size_t>(all.q(1).size())),
        0);
    for (const auto view : {&KvView::k, &KvView::v, &KvView::k_scale, &KvView::v_scale}) {
      if (!(all.kv(0).*view)) continue;
      EXPECT_EQ(slot(some, 0, view, 0, 4), slot(all, 1, view, 0, 4)) << text;
      EXPECT_EQ(slot(some, 0, view, 2, 19), slot(all, 1, view, 2, 19)) << text;
      EXPECT_NE(slot(some, 0, view, 2, 19), slot(all, 0, view, 2, 19)) << text;
    }
  }
}

float number(const std::byte* at, DType type) {
  std::uint16_t half = 0;
  std::memcpy(&half, at, 2);
  if (type == DType::bf16) return bf16_to_float(half);
  if (type == DType::f16) return f16_to_float(half);
  if (type == DType::f8e4m3) return e4m3_to_float(std::to_integer<std::uint8_t>(*at));
  float value = 0.0F;
  std::memcpy(&value, at, 4);
  return value;
}

TEST(StepTensorsTest, OutliersAreSixtyFourTimesTheSameRows) {
  for (const char* text : {"q4:kv2:d16", "q4:kv2:d16:f16", "q4:kv2:d16:f32", "q4:kv2:d16:f8p"}) {
    const AttentionShape shape = parse_shape_spec(text).shape;
    Workload workload = ragged();
    const StepTensors plain(shape, workload, 16, 2, 3);
    workload.outliers = 3;
    const StepTensors with(shape, workload, 16, 2, 3);
    const OutlierRows outliers = outliers_of(shape, workload);
    ASSERT_EQ(outliers.rows, 6 * 4);
    for (const int copy : {0, 1}) {
      int found = 0;
      for (std::int64_t row = 0; row < outliers.rows; ++row) {
        const bool is = outliers.has(row, seed_of_q(3, static_cast<std::uint64_t>(copy)));
        found += is ? 1 : 0;
        for (std::int64_t i = row * 16; i < row * 16 + 16; ++i) {
          const std::int64_t at = i * size_of(shape.q_type);
          ASSERT_EQ(number(with.q(copy).data() + at, shape.q_type),
                    (is ? 64.0F : 1.0F) * number(plain.q(copy).data() + at, shape.q_type))
              << text << " row " << row;
        }
      }
      EXPECT_GT(found, 0);
      EXPECT_LT(found, outliers.rows);
      EXPECT_EQ(std::memcmp(with.on_cpu(copy).q(0).data(), with.q(copy).data(),
                            static_cast<std::size_t>(with.q(copy).size())),
                0);
    }
  }
}

TEST(StepTensorsTest, BytesAreThoseOfTheTensors) {
  const AttentionShape shape = parse_shape_spec("q4:kv2:d16:i8").shape;
  // 6 new tokens of q and out; 1 + 3 pages of 16 slots, 2 heads: codes and scales of K and V.
  EXPECT_EQ(bytes_a_copy(shape, ragged(), 16), 2 * 6 * 4 * 16 * 2 + 4 * 16 * 2 * 2 * (16 + 4));
  EXPECT_EQ(kv_bytes_a_copy(shape, ragged(), 16), 4 * 16 * 2 * 2 * (16 + 4));
}

TEST(RandomFill, APartIsThatOfTheWhole) {
  for (const DType type : {DType::f32, DType::f16, DType::i8}) {
    const RandomTable table = normal_table(type);
    Buffer whole(1000 * 4);
    Buffer part(1000 * 4);
    fill_random(whole.data(), table, 0, 1000, 7);
    for (const std::int64_t first : {0, 1, 2, 3, 4, 501})
      for (const std::int64_t count : {1, 2, 5, 333}) {
        fill_random(part.data(), table, first, count, 7);
        EXPECT_EQ(std::memcmp(part.data(), whole.data() + first * table.element,
                              static_cast<std::size_t>(count * table.element)),
                  0);
      }
  }
}

TEST(RandomFill, OneRowInSoManyIsAnOutlier) {
  constexpr std::int64_t kRows = 1'000'000;
  for (const std::int64_t every : {1, 2, 100, 10'000}) {
    const OutlierRows outliers{.every = every, .rows = kRows, .width = 8};
    for (const std::uint64_t seed : {1ULL, 17ULL}) {
      std::int64_t found = 0;
      for (std::int64_t row = 0; row < kRows; ++row) found += outliers.has(row, seed) ? 1 : 0;
      // Five deviations of so many coins.
      const double rate = 1.0 / static_cast<double>(every);
      EXPECT_NEAR(static_cast<double>(found), rate * kRows,
                  5.0 * std::sqrt(rate * (1.0 - rate) * kRows))
          << every;
    }
  }
  const OutlierRows none{.every = 0, .rows = 1, .width = 8};
  EXPECT_FALSE(none.has(0, 1));
}

TEST(RandomFill, IsNormalWhateverTheType) {
  constexpr std::int64_t kCount = 100'000;
  Buffer buffer(kCount * 4);
  for (const DType type : {DType::f32, DType::bf16, DType::f8e4m3, DType::i8}) {
    fill_normal(buffer, type, kCount, 11);
    double sum = 0.0;
    double squares = 0.0;
    for (std::int64_t i = 0; i < kCount; ++i) {
      double value = 0.0;
      if (type == DType::f32) value = buffer.as<float>()[i];
      if (type == DType::bf16) value = bf16_to_float(buffer.as<std::uint16_t>()[i]);
      if (type == DType::f8e4m3) value = e4m3_to_float(buffer.as<std::uint8_t>()[i]);
      if (type == DType::i8) value = buffer.as<std::int8_t>()[i] / double{kInt8Units};
      sum += value;
      squares += value * value;
    }
    EXPECT_NEAR(sum / kCount, 0.0, 0.02) << name_of(type);
    EXPECT_NEAR(squares / kCount, 1.0, 0.03) << name_of(type);
  }
}

}  // namespace
}  // namespace headwise::bench
