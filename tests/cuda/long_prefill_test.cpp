// A prompt of 128K tokens, too long for the reference: each backend of GPUs that never writes
// scores out against cuda-standard, which is asked for some of the rows only.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "core/number_formats.h"
#include "cuda/runtime/memory.h"
#include "headwise/registry.h"

namespace headwise {
namespace {

using cuda::DeviceBuffer;

constexpr std::int32_t kTokens = 128 * 1024;
constexpr std::int32_t kPage = 64;
constexpr int kSamples = 64;
constexpr Device kGpu{DeviceType::cuda, 0};

template <class T>
DeviceBuffer on_gpu(const std::vector<T>& host) {
  const auto bytes = static_cast<std::int64_t>(host.size() * sizeof(T));
  DeviceBuffer buffer(0, bytes);
  cuda::copy_to_device(buffer.data(), host.data(), bytes);
  return buffer;
}

/// `count` bf16 numbers, normally distributed; they repeat at no distance that pages or rows have.
DeviceBuffer random_numbers(std::int64_t count, std::mt19937& random) {
  constexpr std::size_t kPeriod = 1'000'003;
  std::normal_distribution<float> normal;
  std::vector<std::uint16_t> some(kPeriod);
  for (auto& x : some) x = float_to_bf16(normal(random));
  DeviceBuffer buffer(0, 2 * count);
  for (std::int64_t at = 0; at < count; at += kPeriod)
    cuda::copy_to_device(buffer.as<std::uint16_t>() + at, some.data(),
                         2 * std::min(static_cast<std::int64_t>(kPeriod), count - at));
  return buffer;
}

struct Rows {
  std::vector<std::uint16_t> out;  // bf16 [rows, q_heads, dim]
  std::vector<float> lse;          // [rows, q_heads]
};

/// One prompt with its keys and values in shuffled pages.
class LongPrompt {
 public:
  LongPrompt(int dim, std::mt19937& random)
      : shape_{.q_heads = 8, .kv_heads = 2, .head_dim_qk = dim, .head_dim_v = dim},
        table_(kTokens / kPage),
        q_(random_numbers(kTokens * row(), random)),
        k_(random_numbers(std::int64_t{kTokens} * 2 * dim, random)),
        v_(random_numbers(std::int64_t{kTokens} * 2 * dim, random)) {
    std::iota(table_.begin(), table_.end(), 0);
    std::shuffle(table_.begin(), table_.end(), random);
  }

  bool is_for(const Backend& backend) const {
    Problem problem;
    problem.shape = shape_;
    problem.phase = Phase::prefill;
    problem.device = kGpu;
    problem.page_size = kPage;
    problem.extent = {.requests = 1,
                      .tokens = kTokens,
                      .q_len = kTokens,
                      .kv_len = kTokens,
                      .pairs = std::int64_t{kTokens} * kTokens};
    return static_cast<bool>(backend.explain(problem, this_machine()));
  }

  std::int64_t row() const { return std::int64_t{shape_.q_heads} * shape_.head_dim_qk; }

  /// All rows on `backend`, of which `positions` are returned.
  Rows all_rows(const Backend& backend, const std::vector<std::int32_t>& positions) const {
    const Rows all = run(backend, q_, {kTokens}, {});
    Rows some;
    for (const std::int32_t at : positions) {
      some.out.insert(some.out.end(), all.out.begin() + at * row(),
                      all.out.begin() + (at + 1) * row());
      some.lse.insert(some.lse.end(), all.lse.begin() + at * shape_.q_heads,
                      all.lse.begin() + (at + 1) * shape_.q_heads);
    }
    return some;
  }

  /// The same rows as requests of one token each, which stand at `positions`.
  Rows only(const Backend& backend, const std::vector<std::int32_t>& positions) const {
    DeviceBuffer q(0, static_cast<std::int64_t>(positions.size()) * row() * 2);
    std::vector<std::uint16_t> one(static_cast<std::size_t>(row()));
    for (std::size_t i = 0; i < positions.size(); ++i) {
      cuda::copy_to_host(one.data(), q_.as<std::uint16_t>() + positions[i] * row(), 2 * row());
      cuda::copy_to_device(q.as<std::uint16_t>() + static_cast<std::int64_t>(i) * row(), one.data(),
                           2 * row());
    }
    return run(backend, q, std::vector<std::int32_t>(positions.size(), 1), positions);
  }

 private:
  Rows run(const Backend& backend, const DeviceBuffer& q, const std::vector<std::int32_t>& q_lens,
           const std::vector<std::int32_t>& q_start) const {
    const auto requests = static_cast<std::int64_t>(q_lens.size());
    const std::int64_t tokens = std::accumulate(q_lens.begin(), q_lens.end(), std::int64_t{0});
    const int heads = shape_.q_heads;
    const int dim = shape_.head_dim_qk;
    std::vector<std::int32_t> tables;
    for (std::int64_t i = 0; i < requests; ++i)
      tables.insert(tables.end(), table_.begin(), table_.end());
    const DeviceBuffer pages = on_gpu(tables);
    const DeviceBuffer out(0, tokens * row() * 2);
    const DeviceBuffer lse(0, tokens * heads * 4);
    const std::vector<std::int32_t> kv_lens(q_lens.size(), kTokens);

    StepBatch step;
    const auto dense_rows = [&](auto* data) {
      return dense(data, DType::bf16, {tokens, heads, dim}, kGpu);
    };
    step.q = dense_rows(static_cast<const void*>(q.data()));
    step.out = dense_rows(out.data());
    step.lse = dense(lse.data(), DType::f32, {tokens, heads}, kGpu);
    step.q_lens = q_lens;
    step.kv_lens = kv_lens;
    step.q_start = q_start;
    const auto columns = static_cast<std::int32_t>(table_.size());
    step.tables = {.page_size = kPage,
                   .pool_pages = columns,
                   .columns = columns,
                   .pages = pages.as<std::int32_t>(),
                   .request_stride = columns,
                   .device = kGpu};
    const auto of_pages = [&](const DeviceBuffer& numbers) {
      return dense(static_cast<const void*>(numbers.data()), DType::bf16,
                   {columns, shape_.kv_heads, kPage, dim}, kGpu);
    };
    const auto binding =
        backend.bind(shape_, {.k = of_pages(k_), .v = of_pages(v_)}, KvLayout::paged);
    const auto plan = backend.plan(shape_, step);
    const DeviceBuffer workspace(0, std::max<std::int64_t>(plan->workspace_bytes(), 64));
    plan->run({.kv = binding.get(), .workspace = workspace.data()});
    cuda::synchronize(0);

    Rows rows{std::vector<std::uint16_t>(static_cast<std::size_t>(tokens * row())),
              std::vector<float>(static_cast<std::size_t>(tokens * heads))};
    cuda::copy_to_host(rows.out.data(), out.data(), out.size());
    cuda::copy_to_host(rows.lse.data(), lse.data(), lse.size());
    return rows;
  }

  AttentionShape shape_;
  std::vector<std::int32_t> table_;
  DeviceBuffer q_, k_, v_;
};

/// The relative error of `a` beside `b`, by norms.
double distance(const std::vector<std::uint16_t>& a, const std::vector<std::uint16_t>& b) {
  double error = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double exact = bf16_to_float(b[i]);
    error += std::pow(bf16_to_float(a[i]) - exact, 2);
    norm += exact * exact;
  }
  return std::sqrt(error / norm);
}

class LongPrefill : public testing::TestWithParam<int> {};

TEST_P(LongPrefill, EqualsStandardOnSampledRows) {
  if (this_machine().gpus.empty()) GTEST_SKIP() << this_machine().no_gpu;
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const LongPrompt prompt(GetParam(), random);
  std::vector<std::int32_t> positions = {0, kTokens - 1};
  while (positions.size() < kSamples)
    positions.push_back(std::uniform_int_distribution<std::int32_t>(1, kTokens - 2)(random));

  const Rows standard = prompt.only(Registry::builtin().find("cuda-standard"), positions);
  for (const Backend* backend : Registry::builtin().backends()) {
    if (backend->name() == "cuda-standard" || !prompt.is_for(*backend)) continue;
    const Rows rows = prompt.all_rows(*backend, positions);
    // Each may be off by 5e-3, a row's rounding to bf16 included.
    EXPECT_LE(distance(rows.out, standard.out), 7e-3) << backend->name();
    for (std::size_t i = 0; i < rows.lse.size(); ++i)
      ASSERT_NEAR(rows.lse[i], standard.lse[i], 2e-3) << backend->name() << " row " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDimensions, LongPrefill, testing::Values(64, 128, 256));

}  // namespace
}  // namespace headwise
