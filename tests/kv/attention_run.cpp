#include "tests/kv/attention_run.h"

#include <cstring>
#include <numeric>

#include "core/number_formats.h"
#include "headwise/registry.h"

namespace headwise {

StoredRows::StoredRows(DType type, const std::vector<float>& numbers,
                       std::initializer_list<std::int64_t> sizes)
    : bytes_(numbers.size() * std::size_t(size_of(type)) + 1) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::byte* to = bytes_.data() + i * std::size_t(size_of(type));
    const std::uint16_t half =
        type == DType::bf16 ? float_to_bf16(numbers[i]) : float_to_f16(numbers[i]);
    if (type == DType::f32)
      std::memcpy(to, &numbers[i], sizeof(float));
    else
      std::memcpy(to, &half, sizeof(half));
  }
  view_ = dense(bytes_.data(), type, sizes);
}

std::vector<const Backend*> cpu_backends() {
  std::vector<const Backend*> backends;
  for (const Backend* backend : Registry::builtin().backends())
    if (backend->device_type() == DeviceType::cpu) backends.push_back(backend);
  return backends;
}

std::optional<AttentionAnswer> attend(const Backend& backend, const AttentionShape& shape,
                                      StepBatch step, const KvView& kv, RunArgs args,
                                      const PlanOptions& options) {
  const std::int64_t tokens = std::accumulate(step.q_lens.begin(), step.q_lens.end(), 0LL);
  const std::int64_t rows = tokens * shape.q_heads;
  AttentionAnswer answer;
  // All ones is a NaN of every type: what is not written does not pass for a number.
  answer.out.assign(std::size_t(rows * shape.head_dim_v * size_of(shape.out_type())) + 1,
                    std::byte{0xff});
  answer.lse.assign(std::size_t(rows), std::bit_cast<float>(0xffffffffU));
  step.out = dense(answer.out.data(), shape.out_type(), {tokens, shape.q_heads, shape.head_dim_v});
  step.lse = dense(answer.lse.data(), DType::f32, {tokens, shape.q_heads});
  if (!backend.explain(problem_of(shape, step, options), this_machine())) return {};
  const auto plan = backend.plan(shape, step, options);
  const auto binding = backend.bind(shape, kv, step.layout);
  std::vector<std::byte> workspace(std::size_t(plan->workspace_bytes()) + 64);
  const auto address = reinterpret_cast<std::uintptr_t>(workspace.data());
  args.workspace = workspace.data() + (64 - address % 64) % 64;
  args.kv = binding.get();
  plan->check(args);
  plan->run(args);
  answer.row = plan->row();
  answer.out.pop_back();
  return answer;
}

RunArgs scales_of(const KvCache& cache, int group, int layer) {
  RunArgs args;
  args.k_scale = cache.k_scale(group, layer);
  args.v_scale = cache.v_scale(group, layer);
  return args;
}

}  // namespace headwise
