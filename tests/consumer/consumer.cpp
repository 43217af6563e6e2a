// One query over two packed keys through the installed C++ API: with equal logits, out is the mean
// of V.

#include <headwise/kv_cache.h>
#include <headwise/registry.h>
#include <headwise/version.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace {

/// A sequence of a cache grows by a page.
bool cache_works(const headwise::AttentionShape& shape) {
  headwise::KvCacheOptions options;
  options.groups = {{.group = {.shape = shape, .layers = 1}, .pages = 4}};
  options.max_tokens = 64;
  headwise::KvCache cache(options);
  const headwise::KvRequest request{.sequence = cache.create(), .new_tokens = 3};
  cache.begin({&request, 1}).commit();
  return cache.length(request.sequence) == 3 && cache.usage(0).used == 16 * 2 * 2 * 4;
}

}  // namespace

int main() {
  using namespace headwise;
  const AttentionShape shape{.q_heads = 1,
                             .kv_heads = 1,
                             .head_dim_qk = 2,
                             .head_dim_v = 2,
                             .q_type = DType::f32,
                             .kv_type = DType::f32};
  const std::array<float, 2> q{0, 0};
  const std::array<float, 4> k{1, 2, 3, 4};
  const std::array<float, 4> v{1, 10, 3, 30};
  std::array<float, 2> out{};
  const std::array<std::int32_t, 1> q_lens{1};
  const std::array<std::int32_t, 1> kv_lens{2};
  const std::array<std::int64_t, 1> kv_start{0};

  StepBatch step;
  step.q = dense(q.data(), DType::f32, {1, 1, 2});
  step.out = dense(out.data(), DType::f32, {1, 1, 2});
  step.q_lens = q_lens;
  step.kv_lens = kv_lens;
  step.layout = KvLayout::packed;
  step.kv_start = kv_start;
  step.packed_tokens = 2;
  KvView kv;
  kv.k = dense(k.data(), DType::f32, {2, 1, 2});
  kv.v = dense(v.data(), DType::f32, {2, 1, 2});

  const Choice choice = Registry::builtin().choose(problem_of(shape, step), this_machine());
  const auto binding = choice.backend->bind(shape, kv, step.layout);
  const auto plan = choice.backend->plan(shape, step);
  const std::unique_ptr<void, decltype(&std::free)> workspace(
      std::aligned_alloc(64, static_cast<std::size_t>(plan->workspace_bytes() + 63) / 64 * 64),
      &std::free);
  RunArgs args;
  args.kv = binding.get();
  args.workspace = workspace.get();
  plan->check(args);
  plan->run(args);

  std::printf("C++: %s -> %g %g\n", to_string(*plan).c_str(), static_cast<double>(out[0]),
              static_cast<double>(out[1]));
  const bool right = std::fabs(out[0] - 2.0F) < 1e-5F && std::fabs(out[1] - 20.0F) < 1e-4F;
  return right && cache_works(shape) && !version().empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}
