#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "headwise/backend.h"
#include "headwise/kv_binding.h"
#include "headwise/plan.h"

namespace headwise::bad_input {

constexpr std::int32_t kPage = 16;
constexpr std::int64_t kPoolPages = 40;
constexpr int kDim = 8;

/// A small step with all that belongs to it, correct until a test spoils a field. Outputs are
/// filled with a number that no attention gives.
class World {
 public:
  explicit World(DType kv_type = DType::f32, KvLayout layout = KvLayout::paged)
      : numbers(kPoolPages * 2 * kPage * kDim, 0.5F),
        outputs(3 * 4 * kDim, kUntouched),
        lses(3 * 4, kUntouched),
        token_scales(kPoolPages * 2 * kPage, 0.01F) {
    shape = {.q_heads = 4,
             .kv_heads = 2,
             .head_dim_qk = kDim,
             .head_dim_v = kDim,
             .q_type = DType::f32,
             .kv_type = kv_type,
             .sinks = true};
    step.q = dense(numbers.data(), DType::f32, {3, 4, kDim});
    step.out = dense(static_cast<void*>(outputs.data()), DType::f32, {3, 4, kDim});
    step.lse = dense(static_cast<void*>(lses.data()), DType::f32, {3, 4});
    step.q_lens = q_lens;
    step.kv_lens = kv_lens;
    step.layout = layout;
    layout == KvLayout::paged ? lay_out_pages() : lay_out_packed();
    if (kv_type == DType::i8) {
      kv.k_scale = kv.v_scale = dense(token_scales.data(), DType::f32, {kPoolPages, 2, kPage});
    }
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  bool outputs_untouched() const {
    const auto untouched = [](float value) { return value == kUntouched; };
    return std::all_of(outputs.begin(), outputs.end(), untouched) &&
           std::all_of(lses.begin(), lses.end(), untouched);
  }

  /// Binds, plans, checks and runs, as a caller does.
  void use(const Backend& backend, void (*spoil)(World&, RunArgs&) = nullptr) {
    const auto binding = backend.bind(shape, kv, step.layout);
    const auto plan = backend.plan(shape, step, options);
    workspace.resize(static_cast<std::size_t>(plan->workspace_bytes()) + 64);
    RunArgs args;
    args.kv = binding.get();
    args.sinks = sinks.data();
    args.workspace = aligned_workspace();
    if (spoil != nullptr) spoil(*this, args);
    plan->check(args);
    plan->run(args);
  }

  AttentionShape shape;
  StepBatch step;
  KvView kv;
  PlanOptions options;

  std::vector<std::int32_t> q_lens = {2, 1};
  std::vector<std::int32_t> kv_lens = {5, 40};
  std::vector<std::int32_t> pages = {7, 99, -1, 3, 39, 0};  ///< two rows of three columns
  std::vector<std::int32_t> positions = {0, 16, 32, 0, 16, 32};
  std::vector<std::int64_t> kv_start = {0, 5};
  std::vector<std::int32_t> prefix_group = {4, 4};
  std::vector<std::int32_t> lens;    ///< for tests that need other lengths
  std::vector<std::int64_t> starts;  ///< for tests that need other starts
  std::vector<float> sinks = {0.0F, 0.0F, 0.0F, 0.0F};
  std::vector<float> numbers, outputs, lses, token_scales;
  std::unique_ptr<KvBinding> other_binding;

 private:
  static constexpr float kUntouched = -12345.0F;

  void lay_out_pages() {
    step.tables = {.page_size = kPage,
                   .pool_pages = kPoolPages,
                   .columns = 3,
                   .pages = pages.data(),
                   .request_stride = 3};
    kv.k = kv.v = dense(numbers.data(), shape.kv_type, {kPoolPages, 2, kPage, kDim});
  }
  void lay_out_packed() {
    step.kv_start = kv_start;
    step.packed_tokens = 45;
    kv.k = kv.v = dense(numbers.data(), shape.kv_type, {45, 2, kDim});
  }
  void* aligned_workspace() {
    const auto address = reinterpret_cast<std::uintptr_t>(workspace.data());
    return workspace.data() + (64 - address % 64) % 64;
  }

  std::vector<std::byte> workspace;
};

}  // namespace headwise::bad_input
