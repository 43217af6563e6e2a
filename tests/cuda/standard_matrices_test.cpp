// How cuda-standard cuts requests into chunks and where it puts their matrices.

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "attention/mask.h"
#include "cuda/standard/cuda_standard.h"
#include "cuda/standard/matrices.h"

namespace headwise::cuda::standard {
namespace {

Problem problem_for(DType q, DType kv, Capacity extent = {}) {
  return {.shape = {.q_heads = 12,
                    .kv_heads = 3,
                    .head_dim_qk = 40,
                    .head_dim_v = 33,
                    .q_type = q,
                    .kv_type = kv},
          .device = {DeviceType::cuda, 0},
          .extent = extent};
}

Capacity one_request(std::int32_t q_len, std::int32_t kv_len) {
  return {.requests = 1,
          .tokens = q_len,
          .q_len = q_len,
          .kv_len = kv_len,
          .pairs = std::int64_t{q_len} * kv_len};
}

bool holds(DType product, DType stored) {
  return product == stored || product == DType::f32 || is_8_bit(stored);
}

constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::i8};

TEST(StandardMatrices, ProductsHoldTheStoredNumbersExactly) {
  for (const DType q : kTypes)
    for (const DType kv : kTypes) {
      if (q == DType::i8) continue;
      const ProductTypes types = product_types(problem_for(q, kv).shape);
      EXPECT_TRUE(holds(types.scores, q) && holds(types.scores, kv));
      EXPECT_TRUE(holds(types.values, kv));
      EXPECT_FALSE(types.values != DType::f32 && kv == DType::i8) << "P takes scales of any size";
    }
  const auto types = [](DType q, DType kv) { return product_types(problem_for(q, kv).shape); };
  EXPECT_EQ(types(DType::bf16, DType::bf16), (ProductTypes{DType::bf16, DType::bf16}));
  EXPECT_EQ(types(DType::f16, DType::i8), (ProductTypes{DType::f16, DType::f32}));
  EXPECT_EQ(types(DType::bf16, DType::i8), (ProductTypes{DType::bf16, DType::f32}));
  EXPECT_EQ(types(DType::f16, DType::bf16), (ProductTypes{DType::f32, DType::f32}));
}

TEST(StandardMatrices, VIsReadFromKsCopyWhereTheTypesAgree) {
  Problem problem = problem_for(DType::f16, DType::i8);
  problem.shape.v_is_k_prefix = true;
  EXPECT_FALSE(Matrices(problem).v_in_k);
  problem.shape.kv_type = DType::f16;
  const Matrices matrices(problem);
  EXPECT_TRUE(matrices.v_in_k);
  EXPECT_EQ(matrices.v_stride(), 40);
  const KeyBuffers buffers(matrices, 128);
  EXPECT_EQ(buffers.v, buffers.k);
}

TEST(StandardMatrices, BuffersDoNotOverlap) {
  for (const DType kv : {DType::f32, DType::f16, DType::i8}) {
    Problem problem = problem_for(DType::f16, kv);
    problem.picked_pages = problem.tables_per_kv_head = true;
    const Matrices m(problem);
    const std::int64_t score = size_of(m.types.scores);
    const std::int64_t value = size_of(m.types.values);
    const KeyBuffers keys(m, 192);
    EXPECT_GE(keys.v, keys.k + 3 * 192 * 40 * score);
    EXPECT_GE(keys.k_scale, keys.v + 3 * 192 * 40 * value);
    EXPECT_GE(keys.v_scale, keys.k_scale + (kv == DType::i8 ? 3 * 192 * 4 : 0));
    EXPECT_GE(keys.positions, keys.v_scale + (kv == DType::i8 ? 3 * 192 * 4 : 0));
    EXPECT_GE(keys.end, keys.positions + 3 * 192 * 4);
    const RowBuffers rows(m, 5, 128);
    EXPECT_GE(rows.s, rows.q + 3 * 20 * 40 * score);
    const std::int64_t behind_s = rows.s + 3 * 20 * 128 * 4;
    EXPECT_TRUE(rows.p >= behind_s || (rows.p == rows.s && m.types.values == DType::f32));
    EXPECT_GE(rows.o, rows.p + 3 * 20 * 128 * value);
    EXPECT_GE(rows.weights, rows.o + 3 * 20 * 40 * 4);
    EXPECT_GE(rows.end, rows.weights + 3 * 20 * 4);
    for (const std::int64_t at :
         {keys.v, keys.k_scale, keys.v_scale, keys.positions, rows.s, rows.p, rows.o, rows.weights})
      EXPECT_EQ(at % 256, 0);
  }
}

TEST(StandardMatrices, ARequestWithinTheBudgetIsOneChunk) {
  for (const std::int32_t q_len : {1, 7, 500})
    for (const std::int32_t kv_len : {0, 1, 63, 64, 65, 1000}) {
      const Problem problem = problem_for(DType::bf16, DType::bf16, one_request(q_len, kv_len));
      const Matrices matrices(problem);
      const WorkspaceSizes sizes(matrices, problem.extent, std::int64_t{1} << 40);
      const auto chunks = chunks_of(matrices, problem.shape, {q_len, kv_len, 0}, sizes.rows);
      EXPECT_EQ(chunks.chunks.size(), 1U) << q_len << ' ' << kv_len;
    }
}

TEST(StandardMatrices, ChunksHoldAllRowsAndWhatTheySee) {
  std::mt19937 random(3);
  const auto below = [&](std::int64_t limit) {
    return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(random);
  };
  const std::int64_t windows[][2] = {{-1, 0}, {-1, -1}, {0, 0}, {100, 0}, {5, 5}, {4, -1}, {-1, 3}};
  std::size_t most = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto q_len = static_cast<std::int32_t>(1 + below(300));
    const auto kv_len = static_cast<std::int32_t>(below(1500));
    Problem problem = problem_for(kTypes[below(3)], kTypes[below(5)], one_request(q_len, kv_len));
    const auto& window = windows[below(7)];
    problem.shape.window_left = window[0];
    problem.shape.window_right = window[1];
    const Matrices matrices(problem);
    const WorkspaceSizes sizes(matrices, problem.extent, below(4'000'000));
    const RequestRows request{.q_len = q_len,
                              .kv_len = kv_len,
                              .q_start = below(2) == 0 ? kv_len - q_len : below(3000) - 700,
                              .slots_known = below(4) > 0};
    const auto cut = chunks_of(matrices, problem.shape, request, sizes.rows);
    ASSERT_LE(KeyBuffers(matrices, cut.columns).end, sizes.keys);
    std::int64_t next = 0;
    for (const Chunk& chunk : cut.chunks) {
      ASSERT_EQ(chunk.token, next);
      ASSERT_GT(chunk.tokens, 0);
      ASSERT_LE(RowBuffers(matrices, chunk.tokens, chunk.columns).end, sizes.rows);
      ASSERT_EQ(chunk.column % 64 + chunk.columns % 64, 0);
      ASSERT_LE(chunk.column + chunk.columns, cut.columns);
      next += chunk.tokens;
      const std::int64_t slot = cut.first_slot + chunk.column;
      for (std::int64_t token = chunk.token; token < next; ++token) {
        const auto seen = Mask(problem.shape).seen_from(request.q_start + token);
        for (std::int64_t key = 0; key < kv_len; ++key)
          ASSERT_TRUE((request.slots_known && !seen.contains(key)) ||
                      (key >= slot && key < slot + chunk.columns))
              << key << " token " << token;
      }
    }
    ASSERT_EQ(next, q_len);
    most = std::max(most, cut.chunks.size());
  }
  EXPECT_GT(most, 100U);
}

TEST(StandardMatrices, LongPrefillsKeepToTheBudget) {
  Problem problem = problem_for(DType::bf16, DType::bf16, one_request(1 << 17, 1 << 17));
  problem.shape.q_heads = 32;
  problem.shape.kv_heads = 8;
  problem.shape.head_dim_qk = problem.shape.head_dim_v = 128;
  const Matrices matrices(problem);
  const std::int64_t budget = std::int64_t{34} << 30;
  const WorkspaceSizes sizes(matrices, problem.extent, budget);
  EXPECT_LT(sizes.bytes(), budget + (std::int64_t{1} << 30));
  const auto cut = chunks_of(matrices, problem.shape, {1 << 17, 1 << 17, 0}, sizes.rows);
  EXPECT_GT(cut.chunks.front().tokens, 1000) << "rows enough for products at full speed";
  EXPECT_LT(cut.chunks.front().columns, 2048) << "causal: the first rows see few keys";
}

TEST(StandardMatrices, CapacitiesMayBeAsLargeAsNumbersGo) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  const Problem problem = problem_for(DType::bf16, DType::bf16, one_request(kMost, kMost));
  const WorkspaceSizes sizes(Matrices(problem), problem.extent, 1'000'000);
  EXPECT_GT(sizes.rows, std::int64_t{12} * kMost * 6) << "a token's row of S and P";
  EXPECT_LT(sizes.rows, std::int64_t{12} * kMost * 7);
}

Machine machine_with(GpuInfo gpu) { return {.gpus = {std::move(gpu)}}; }

TEST(StandardBackend, SaysWhyItCannot) {
  const Backend& backend = cuda_standard_backend();
  const GpuInfo gpu{.name = "any", .compute_capability = 90, .memory_bytes = std::int64_t{1} << 34};
  Problem problem = problem_for(DType::bf16, DType::bf16, one_request(100, 100));
  const Support support = backend.explain(problem, machine_with(gpu));
  EXPECT_TRUE(support || support.why_not == "libcublasLt.so.13 was not found") << support.why_not;
  EXPECT_TRUE(!support || support.row == "row 2 (bf16)") << support.row;

  EXPECT_FALSE(backend.explain(problem, {}));
  problem.options.batch_invariant = true;
  EXPECT_NE(backend.explain(problem, machine_with(gpu)).why_not.find("batch_invariant"),
            std::string::npos);
  problem.options.batch_invariant = false;
  problem.extent.kv_len = 1 << 30;
  EXPECT_NE(backend.explain(problem, machine_with(gpu)).why_not.find("the GPU has 16384"),
            std::string::npos);
}

TEST(StandardBackend, EveryPairOfTypesHasARow) {
  const GpuInfo gpu{.name = "any", .compute_capability = 90, .memory_bytes = std::int64_t{1} << 34};
  for (const DType q : kTypes)
    for (const DType kv : kTypes) {
      if (q == DType::i8) continue;
      const auto support =
          cuda_standard_backend().explain(problem_for(q, kv, one_request(9, 9)), machine_with(gpu));
      EXPECT_TRUE(support || support.why_not == "libcublasLt.so.13 was not found");
    }
}

}  // namespace
}  // namespace headwise::cuda::standard
