#include "kv/append_kv.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "core/number_formats.h"
#include "headwise/error.h"
#include "headwise/registry.h"

namespace headwise {
namespace {

constexpr int kLayers = 2;
constexpr int kHeads = 3;
constexpr int kDimQk = 4;
constexpr int kDimV = 2;
constexpr int kPageSize = 4;

PagePool make_pool(DType type) {
  return PagePool({.layers = kLayers,
                   .kv_heads = kHeads,
                   .head_dim_qk = kDimQk,
                   .head_dim_v = kDimV,
                   .type = type,
                   .page_size = kPageSize,
                   .pages = 6});
}

float value_of(int token, int head, int i) { return float(token * 100 + head * 10 + i) + 0.25F; }

/// [tokens, heads, dim] inside of rows that are `padding` elements longer.
std::vector<float> tokens_of(int first, int count, int dim, int padding) {
  std::vector<float> rows;
  for (int token = first; token < first + count; ++token) {
    for (int head = 0; head < kHeads; ++head) {
      for (int i = 0; i < dim; ++i) rows.push_back(value_of(token, head, i));
    }
    rows.insert(rows.end(), std::size_t(padding), -1.0F);
  }
  return rows;
}

TensorView view_of(const std::vector<float>& rows, int count, int dim, int padding) {
  TensorView view = dense(rows.data(), DType::f32, {count, kHeads, dim});
  view.strides[0] = kHeads * dim + padding;
  return view;
}

const Backend& backend() { return Registry::builtin().find("cpu-portable"); }

AttentionShape shape_of(const PagePool& pool) {
  return {.q_heads = kHeads,
          .kv_heads = kHeads,
          .head_dim_qk = kDimQk,
          .head_dim_v = kDimV,
          .kv_type = pool.shape().type};
}

void append_tokens(KvSequence& sequence, int layer, int count) {
  const auto k = tokens_of(sequence.length(), count, kDimQk, 5);
  const auto v = tokens_of(sequence.length(), count, kDimV, 0);
  append_kv(backend(), shape_of(sequence.pool()), sequence, layer, view_of(k, count, kDimQk, 5),
            view_of(v, count, kDimV, 0));
}

float load(const TensorView& view, std::int64_t element) {
  const auto* halves = static_cast<const std::uint16_t*>(view.data);
  if (view.dtype == DType::bf16) return bf16_to_float(halves[element]);
  if (view.dtype == DType::f16) return f16_to_float(halves[element]);
  return static_cast<const float*>(view.data)[element];
}

/// Looks every token up through the block table, with arithmetic of its own.
void expect_tokens(const KvSequence& sequence, const TensorView& pool, int dim) {
  for (int token = 0; token < sequence.length(); ++token) {
    const std::int64_t page = sequence.pages()[std::size_t(token / kPageSize)];
    for (int head = 0; head < kHeads; ++head) {
      for (int i = 0; i < dim; ++i) {
        const std::int64_t at = page * pool.strides[0] + head * pool.strides[1] +
                                (token % kPageSize) * pool.strides[2] + i;
        ASSERT_NEAR(load(pool, at), value_of(token, head, i), value_of(token, head, i) * 0x1p-8)
            << "token " << token << " head " << head << " element " << i;
      }
    }
  }
}

class AppendKv : public testing::TestWithParam<DType> {};

TEST_P(AppendKv, PutsEveryTokenWhereTheTableSays) {
  PagePool pool = make_pool(GetParam());
  std::vector<std::int32_t> held;
  pool.take(2, held);  // so that the sequence's pages do not start at 0
  KvSequence sequence(pool);
  sequence.reserve(3);
  pool.give_back(held);  // and are not in order
  for (const int count : {3, 1, 6, 1, 2}) {
    sequence.reserve(count);
    append_tokens(sequence, 1, count);
    sequence.advance(count);
  }
  EXPECT_EQ(sequence.length(), 13);
  expect_tokens(sequence, pool.layer(1).k, kDimQk);
  expect_tokens(sequence, pool.layer(1).v, kDimV);
}

INSTANTIATE_TEST_SUITE_P(Types, AppendKv, testing::Values(DType::f32, DType::f16, DType::bf16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST(AppendKvErrors, LeaveThePagesAlone) {
  PagePool pool = make_pool(DType::f32);
  std::memset(pool.k(0), 0x5a, std::size_t(pool.bytes()));
  const std::vector<std::byte> before(pool.k(0), pool.k(0) + pool.bytes());
  KvSequence sequence(pool);
  sequence.reserve(4);
  const std::vector<float> rows(1000);
  const auto view = [&](int count, int heads, int dim, DType type = DType::f32) {
    return dense(rows.data(), type, {count, heads, dim});
  };
  const TensorView k = view(2, kHeads, kDimQk);
  const TensorView v = view(2, kHeads, kDimV);
  const auto append = [&](int layer, const TensorView& new_k, const TensorView& new_v) {
    append_kv(backend(), shape_of(pool), sequence, layer, new_k, new_v);
  };
  EXPECT_THROW(append(kLayers, k, v), Error);
  EXPECT_THROW(append(0, k, k), Error);
  EXPECT_THROW(append(0, view(2, kHeads + 1, kDimQk), v), Error);
  EXPECT_THROW(append(0, view(2, kHeads, kDimQk, DType::bf16), v), Error);
  EXPECT_THROW(append(0, view(3, kHeads, kDimQk), v), Error);
  EXPECT_THROW(append(0, view(5, kHeads, kDimQk), view(5, kHeads, kDimV)), Error);
  EXPECT_EQ(std::memcmp(pool.k(0), before.data(), before.size()), 0);
}

}  // namespace
}  // namespace headwise
