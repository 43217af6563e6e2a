#include "engine/attention_check.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "attention/output_bound.h"
#include "core/aligned_memory.h"
#include "headwise/registry.h"

namespace headwise {
namespace {

constexpr int kLayerStride = 8;  // each step looks at every eighth layer, the next step at others

/// |out - exact| / |exact|; not a number counts as infinite.
double relative_error(const float* out, const std::vector<float>& exact) {
  double difference = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    difference += std::pow(double{out[i]} - double{exact[i]}, 2);
    norm += std::pow(double{exact[i]}, 2);
  }
  const double error = difference == 0.0 ? 0.0 : std::sqrt(difference / norm);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

}  // namespace

double AttentionCheck::bound() const { return output_bound(shape_); }

void AttentionCheck::compare(const StepBatch& step, int layer) {
  const std::int64_t tokens = step.q.sizes[0];
  const std::int64_t context = step.kv_lens[0];
  if ((context + layer) % kLayerStride != 0) return;
  compare_row(step, layer, tokens - 1);
  if (tokens > 1) compare_row(step, layer, (context * 31 + layer * 17) % (tokens - 1));
}

void AttentionCheck::compare_row(const StepBatch& step, int layer, std::int64_t row) {
  const Backend& reference = Registry::builtin().find("reference");
  std::vector<float> exact(static_cast<std::size_t>(shape_.q_heads * shape_.head_dim_v));
  const std::array<std::int32_t, 1> one = {1};
  const std::array<std::int32_t, 1> start = {
      static_cast<std::int32_t>(step.kv_lens[0] - step.q_lens[0] + row)};

  StepBatch single = step;
  single.q.data = static_cast<const std::byte*>(step.q.data) +
                  row * step.q.strides[0] * static_cast<std::int64_t>(size_of(step.q.dtype));
  single.q.sizes[0] = 1;
  single.out = dense(exact.data(), DType::f32, {1, shape_.q_heads, shape_.head_dim_v});
  single.q_lens = one;
  single.q_start = start;

  const auto plan = reference.plan(shape_, single);
  const auto binding = reference.bind(shape_, cache_->layer(group_, layer), KvLayout::paged);
  const AlignedBytes workspace = allocate_aligned(plan->workspace_bytes());
  RunArgs args;
  args.kv = binding.get();
  args.k_scale = cache_->k_scale(group_, layer);
  args.v_scale = cache_->v_scale(group_, layer);
  args.workspace = workspace.get();
  plan->run(args);

  const auto* out = static_cast<const float*>(step.out.data) + row * step.out.strides[0];
  worst_ = std::max(worst_, relative_error(out, exact));
  ++rows_;
}

}  // namespace headwise
