#include "headwise/kv_step.h"

#include <utility>

#include "core/check.h"
#include "kv/kv_cache_state.h"

namespace headwise {

KvStep::KvStep(KvStep&& other) noexcept : cache_(std::exchange(other.cache_, nullptr)) {}

KvStep& KvStep::operator=(KvStep&& other) noexcept {
  if (this != &other) {
    rollback();
    cache_ = std::exchange(other.cache_, nullptr);
  }
  return *this;
}

KvStep::~KvStep() { rollback(); }

KvCache& KvStep::open() const {
  check(cache_ != nullptr, "the step has ended");
  return *cache_;
}

std::span<const std::int32_t> KvStep::q_lens() const { return open().state().step.q_lens(); }
std::span<const std::int32_t> KvStep::kv_lens() const { return open().state().step.kv_lens(); }

BlockTables KvStep::tables(int group) const {
  const KvCacheState& state = std::as_const(open()).state();
  state.check_group(group);
  return {.page_size = state.options.page_size,
          .pool_pages = state.pool(group).refs().size(),
          .columns = state.sequences.columns(),
          .pages = state.step_tables.table(group),
          .request_stride = state.sequences.columns(),
          .device = state.memory().device()};
}

void KvStep::describe(int group, StepBatch& step) const {
  step.tables = tables(group);
  step.q_lens = q_lens();
  step.kv_lens = kv_lens();
  step.q_start = {};
  step.layout = KvLayout::paged;
  step.prefix_group = {};
  step.prefix_tokens = {};
}

void KvStep::describe_prefixes(int group, StepBatch& step) const {
  KvCacheState& state = open().state();
  state.check_group(group);
  state.step.find_prefixes(state, group);
  step.prefix_group = state.step.prefix_groups();
  step.prefix_tokens = state.step.prefix_tokens();
}

void KvStep::append_kv(const Backend& backend, int group, int layer, const TensorView& k,
                       const TensorView& v, void* stream) {
  KvCache& cache = open();
  KvCacheState& state = cache.state();
  StepBatch step;
  describe(group, step);
  AppendArgs args;
  args.k = k;
  args.v = v;
  args.cache = cache.mutable_layer(group, layer);
  args.stream = stream;
  const Fp8Scales& scales = state.scales[static_cast<std::size_t>(group)];
  if (scales.wanted()) {
    check(scales.has(layer), "group ", group, ", layer ", layer,
          " has no scales: set or calibrate them before K and V are appended");
    args.k_scale = scales.k(layer);
    args.v_scale = scales.v(layer);
    args.saturated = scales.saturated();
  }
  const AttentionShape& shape = state.pool(group).shape().group.shape;
  backend.append_kv(shape, step, args);
  if (KeyBounds* bounds = state.bounds[static_cast<std::size_t>(group)].get())
    bounds->note_step(layer, step, args.cache, args.k_scale);
}

void KvStep::commit() {
  KvCacheState& state = open().state();
  state.step.commit(state);
  cache_ = nullptr;
}

void KvStep::commit(std::span<const std::int32_t> accepted) {
  KvCacheState& state = open().state();
  state.step.commit(state, accepted);
  cache_ = nullptr;
}

void KvStep::rollback() noexcept {
  if (cache_ == nullptr) return;
  cache_->state().step.rollback(cache_->state());
  cache_ = nullptr;
}

}  // namespace headwise
