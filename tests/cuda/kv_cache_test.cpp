// A KvCache in a GPU's memory beside one in the CPU's: the same calls, so the same tables, the same
// bits in the pages, and the same attention within its bound.
#include "headwise/kv_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/aligned_memory.h"
#include "cuda/runtime/memory.h"
#include "headwise/registry.h"
#include "tests/conformance/random.h"

namespace headwise {
namespace {

constexpr Device kGpu{DeviceType::cuda, 0};
constexpr int kPageSize = 16;
constexpr int kLayers = 2;

AttentionShape shape_of(int group) {
  AttentionShape shape{.q_heads = 4, .kv_heads = 2, .head_dim_qk = 64, .head_dim_v = 64};
  if (group == 1) shape.window_left = 40;
  if (group == 2) shape.kv_type = DType::f8e4m3;
  if (group == 3) shape.kv_type = DType::i8;
  return shape;
}
constexpr int kGroups = 4;

KvCacheOptions options_for(const DeviceMemory& memory) {
  KvCacheOptions options;
  for (int group = 0; group < kGroups; ++group)
    options.groups.push_back({.group = {.shape = shape_of(group), .layers = kLayers}, .pages = 60});
  options.page_size = kPageSize;
  options.max_sequences = 8;
  options.max_tokens = 400;
  options.groups[1].window_slack = 32;  // so that a sequence can be cut
  options.hash_seed = 7;
  options.memory = &memory;
  return options;
}

/// A tensor on the CPU and its copy on the GPU.
struct Tensor {
  explicit Tensor(std::int64_t count) : host(static_cast<std::size_t>(count)), gpu(0, 4 * count) {}
  void send() const { cuda::copy_to_device(gpu.data(), host.data(), gpu.size()); }
  void fetch() { cuda::copy_to_host(host.data(), gpu.data(), gpu.size()); }

  std::vector<float> host;
  cuda::DeviceBuffer gpu;
};

class Twins : public testing::Test {
 protected:
  Twins() : host_(options_for(cpu_memory())), gpu_(options_for(memory_of(kGpu))) {
    const std::vector<float> scale = {0.01F};
    for (KvCache* cache : {&host_, &gpu_})
      for (int layer = 0; layer < kLayers; ++layer) cache->set_scales(2, layer, scale, scale);
  }

  /// The same call for both; sequences have the same rows.
  template <class Call>
  std::pair<SequenceId, SequenceId> both(const Call& call) {
    return {call(host_), call(gpu_)};
  }

  using Sequences = std::vector<std::pair<SequenceId, SequenceId>>;

  void grow(const Sequences& sequences, std::int32_t count,
            const std::vector<std::int32_t>& told = {}) {
    std::vector<KvRequest> requests[2];
    for (const auto& [host, gpu] : sequences) {
      requests[0].push_back({.sequence = host, .new_tokens = count, .tokens = told});
      requests[1].push_back({.sequence = gpu, .new_tokens = count, .tokens = told});
    }
    KvStep host_step = host_.begin(requests[0]);
    KvStep gpu_step = gpu_.begin(requests[1]);
    const std::int64_t tokens = std::ssize(sequences) * count;
    for (int group = 0; group < kGroups; ++group) {
      for (int layer = 0; layer < kLayers; ++layer)
        append(host_step, gpu_step, group, layer, tokens);
      expect_tables(gpu_step, group, sequences);
      expect_attention(host_step, gpu_step, group, tokens);
    }
    host_step.commit();
    gpu_step.commit();
    for (const auto& [host, gpu] : sequences) expect_pages(host, gpu);
  }

  void append(KvStep& host_step, KvStep& gpu_step, int group, int layer, std::int64_t tokens) {
    const AttentionShape shape = shape_of(group);
    Tensor k(tokens * shape.kv_heads * shape.head_dim_qk);
    Tensor v(tokens * shape.kv_heads * shape.head_dim_v);
    for (Tensor* tensor : {&k, &v}) {
      for (float& value : tensor->host) value = static_cast<float>(random_.normal());
      tensor->send();
    }
    const auto view = [&](const void* data, Device device) {
      return dense(data, DType::f32, {tokens, shape.kv_heads, 64}, device);
    };
    host_step.append_kv(Registry::builtin().find("reference"), group, layer,
                        view(k.host.data(), {}), view(v.host.data(), {}));
    gpu_step.append_kv(Registry::builtin().find("cuda-sm80"), group, layer,
                       view(k.gpu.data(), kGpu), view(v.gpu.data(), kGpu));
    cuda::synchronize(0);
  }

  void expect_tables(const KvStep& step, int group, const Sequences& sequences) {
    const BlockTables tables = step.tables(group);
    ASSERT_EQ(tables.device, kGpu);
    for (std::size_t r = 0; r < sequences.size(); ++r) {
      const auto pages = host_.pages(sequences[r].first, group);
      ASSERT_TRUE(std::ranges::equal(pages, gpu_.pages(sequences[r].second, group)));
      std::vector<std::int32_t> row(pages.size());
      cuda::copy_to_host(row.data(), tables.pages + std::int64_t(r) * tables.request_stride,
                         std::int64_t(row.size() * sizeof(std::int32_t)));
      EXPECT_TRUE(std::ranges::equal(pages, row)) << "request " << r << " of group " << group;
    }
  }

  /// Every held slot of a view has the same bytes.
  void expect_equal(const TensorView& host, const TensorView& gpu,
                    std::span<const std::int32_t> pages, std::int32_t length) {
    if (!host) return;
    const std::int64_t bytes = host.sizes[0] * host.strides[0] * size_of(host.dtype);
    std::vector<std::byte> copy(static_cast<std::size_t>(bytes));
    cuda::copy_to_host(copy.data(), gpu.data, bytes);
    const std::int64_t slot_bytes = host.strides[2] * size_of(host.dtype);
    for (std::int32_t slot = 0; slot < length; ++slot) {
      const std::int64_t page = pages[std::size_t(slot / kPageSize)];
      if (page < 0) continue;
      for (std::int64_t head = 0; head < host.sizes[1]; ++head) {
        const std::int64_t at =
            (page * host.strides[0] + head * host.strides[1]) * size_of(host.dtype) +
            slot % kPageSize * slot_bytes;
        ASSERT_TRUE(std::equal(copy.begin() + at, copy.begin() + at + slot_bytes,
                               static_cast<const std::byte*>(host.data) + at))
            << "slot " << slot << ", head " << head;
      }
    }
  }

  void expect_pages(SequenceId host, SequenceId gpu) {
    for (int group = 0; group < kGroups; ++group)
      for (int layer = 0; layer < kLayers; ++layer) {
        const KvView ours = host_.layer(group, layer);
        const KvView theirs = gpu_.layer(group, layer);
        const auto pages = host_.pages(host, group);
        const std::int32_t length = host_.length(host);
        ASSERT_EQ(length, gpu_.length(gpu));
        expect_equal(ours.k, theirs.k, pages, length);
        expect_equal(ours.v, theirs.v, pages, length);
        expect_equal(ours.k_scale, theirs.k_scale, pages, length);
        expect_equal(ours.v_scale, theirs.v_scale, pages, length);
      }
  }

  void run(KvCache& cache, const KvStep& cache_step, int group, const char* name, StepBatch step) {
    const Backend& backend = Registry::builtin().find(name);
    const AttentionShape shape = shape_of(group);
    cache_step.describe(group, step);
    const auto plan = backend.plan(shape, step, {});
    const auto binding = backend.bind(shape, cache.layer(group, 1), KvLayout::paged);
    RunArgs args;
    args.kv = binding.get();
    args.k_scale = cache.k_scale(group, 1);
    args.v_scale = cache.v_scale(group, 1);
    const bool on_gpu = step.q.device == kGpu;
    const AlignedBytes on_host = allocate_aligned(on_gpu ? 0 : plan->workspace_bytes());
    const cuda::DeviceBuffer workspace(0, on_gpu ? plan->workspace_bytes() : 0);
    args.workspace = on_gpu ? workspace.data() : on_host.get();
    plan->run(args);
    cuda::synchronize(0);
  }

  void expect_attention(const KvStep& host_step, const KvStep& gpu_step, int group,
                        std::int64_t tokens) {
    const std::int64_t count = tokens * shape_of(group).q_heads * 64;
    std::vector<std::uint16_t> q(static_cast<std::size_t>(count));
    for (std::uint16_t& value : q)  // BF16: the upper half of an F32
      value = static_cast<std::uint16_t>(
          std::bit_cast<std::uint32_t>(static_cast<float>(random_.normal())) >> 16);
    Tensor on_gpu((count + 1) / 2);
    cuda::copy_to_device(on_gpu.gpu.data(), q.data(), 2 * count);
    Tensor exact(count);
    Tensor out(count);
    const auto step_of = [&](const void* queries, float* result, Device device) {
      StepBatch step;
      step.q = dense(queries, DType::bf16, {tokens, shape_of(group).q_heads, 64}, device);
      step.out = dense(static_cast<void*>(result), DType::f32,
                       {tokens, shape_of(group).q_heads, 64}, device);
      return step;
    };
    run(host_, host_step, group, "reference", step_of(q.data(), exact.host.data(), {}));
    run(gpu_, gpu_step, group, "cuda-sm80", step_of(on_gpu.gpu.data(), out.gpu.as<float>(), kGpu));
    out.fetch();
    double difference = 0.0;
    double norm = 0.0;
    for (std::size_t i = 0; i < out.host.size(); ++i) {
      difference += std::pow(double(out.host[i]) - double(exact.host[i]), 2);
      norm += std::pow(double(exact.host[i]), 2);
    }
    EXPECT_LE(std::sqrt(difference), 5e-3 * std::sqrt(norm)) << "group " << group;
  }

  conformance::Rng random_{11};
  KvCache host_;
  KvCache gpu_;
};

TEST_F(Twins, HoldTheSameThroughForksHitsAndCuts) {
  std::vector<std::int32_t> prompt(100);
  std::iota(prompt.begin(), prompt.end(), 0);
  const auto first = both([](KvCache& cache) { return cache.create(); });
  grow({first}, 100, prompt);
  const auto fork = both(
      [&](KvCache& cache) { return cache.fork(&cache == &host_ ? first.first : first.second); });
  grow({first, fork}, 3);  // both copy the page that they share
  EXPECT_EQ(gpu_.counters().copies_on_write, host_.counters().copies_on_write);
  EXPECT_GT(gpu_.counters().copies_on_write, 0);
  const auto hit = both([&](KvCache& cache) {
    const PrefixHit found = cache.create(prompt);
    EXPECT_EQ(found.reused_tokens, 96);
    return found.sequence;
  });
  grow({hit, fork, first}, 1);
  host_.truncate(fork.first, 90);
  gpu_.truncate(fork.second, 90);
  grow({fork}, 40);  // over a page that the prefix cache holds, too
  host_.free(first.first);
  gpu_.free(first.second);
  grow({hit, fork}, 17);
  for (int group = 0; group < kGroups; ++group) {
    EXPECT_EQ(host_.usage(group).used, gpu_.usage(group).used);
    EXPECT_EQ(host_.usage(group).cached, gpu_.usage(group).cached);
  }
  EXPECT_EQ(host_.saturated(2), gpu_.saturated(2));
}

TEST_F(Twins, ReachLayersThatLieFarApart) {
  // A layer of more than 2^31 bytes: beyond the pitch of CUDA's two-dimensional copies.
  KvCacheOptions options;
  options.groups = {
      {.group = {.shape = {.q_heads = 8, .kv_heads = 8, .head_dim_qk = 128, .head_dim_v = 128},
                 .layers = 2},
       .pages = 40000}};
  options.page_size = kPageSize;
  options.max_sequences = 2;
  options.max_tokens = 64;
  options.memory = &memory_of(kGpu);
  KvCache cache(options);
  const SequenceId sequence = cache.create();
  const KvRequest request{.sequence = sequence, .new_tokens = 5};
  cache.begin({&request, 1}).commit();
  const auto element = [&](SequenceId id, int layer) {
    return static_cast<const std::uint16_t*>(cache.layer(0, layer).v.data) +
           std::int64_t(cache.pages(id, 0)[0]) * kPageSize * 8 * 128;
  };
  for (int layer = 0; layer < 2; ++layer) {
    const auto value = static_cast<std::uint16_t>(100 + layer);
    cuda::copy_to_device(const_cast<std::uint16_t*>(element(sequence, layer)), &value, 2);
  }
  const SequenceId fork = cache.fork(sequence);
  const KvRequest next{.sequence = fork, .new_tokens = 1};
  cache.begin({&next, 1}).commit();
  ASSERT_NE(cache.pages(fork, 0)[0], cache.pages(sequence, 0)[0]);
  for (int layer = 0; layer < 2; ++layer) {
    std::uint16_t value = 0;
    cuda::copy_to_host(&value, element(fork, layer), 2);
    EXPECT_EQ(value, 100 + layer);
  }
}

}  // namespace
}  // namespace headwise
