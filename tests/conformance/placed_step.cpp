#include "tests/conformance/placed_step.h"

#include <algorithm>
#include <type_traits>

#include "headwise/error.h"
#include "tests/conformance/backend_choice.h"

namespace headwise::conformance {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kGuard = 256;
constexpr Device kGpu{DeviceType::cuda, 0};

using Use = DeviceCopy::Use;

/// Entries from the first row of a step's tables to the last one's end.
std::int64_t table_entries(const StepBatch& step) {
  const BlockTables& tables = step.tables;
  if (step.requests() == 0) return 0;
  return (step.requests() - 1) * tables.request_stride + (tables.heads - 1) * tables.head_stride +
         tables.columns;
}

/// A view of other memory.
TensorView with_data(TensorView view, const void* data) {
  view.data = data;
  return view;
}

}  // namespace

void finish_on_device() {
  try {
    cuda::synchronize(0);
  } catch (const Error& error) {
    throw DeviceFault(error.what());
  }
}

Workspace::Workspace(const Backend& backend, std::int64_t bytes) : bytes_(bytes) {
  const bool on_device = backend.device_type() == DeviceType::cuda;
  guard_ = on_device && exact_memory() ? 0 : kGuard;
  const std::int64_t all = bytes + kAlignment + guard_;
  if (on_device)
    block_ = std::make_unique<DeviceBlock>(all);
  else
    storage_.resize(static_cast<std::size_t>(all));
  poison();
}

void* Workspace::data() {
  if (block_) return block_->data() + kAlignment;  // and not to 128
  const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
  return storage_.data() + (kAlignment - address % kAlignment) % kAlignment;
}

void Workspace::poison() {
  if (block_) return cuda::fill(block_->data(), std::byte{0xff}, bytes_ + kAlignment + guard_);
  std::fill(storage_.begin(), storage_.end(), std::byte{0xff});
}

bool Workspace::guard_intact() const {
  if (guard_ == 0) return true;
  std::vector<std::byte> fetched;
  const auto* guard = static_cast<const std::byte*>(const_cast<Workspace*>(this)->data()) + bytes_;
  if (block_) {
    fetched.resize(kGuard);
    cuda::copy_to_host(fetched.data(), guard, kGuard);
    guard = fetched.data();
  }
  return std::all_of(guard, guard + kGuard, [](std::byte byte) { return byte == std::byte{0xff}; });
}

PlacedStep::PlacedStep(const Backend& backend, const AttentionShape& shape, const StepBatch& step,
                       const KvView& kv, const RunArgs& args)
    : on_device_(device_for(backend).type == DeviceType::cuda), step_(step), kv_(kv), args_(args) {
  if (on_device_) copy_to_device(shape);
}

void PlacedStep::copy_to_device(const AttentionShape& shape) {
  const std::int64_t kv_heads = shape.kv_heads;
  const std::int64_t scales = shape.fp8_scale == ScaleGranularity::kv_head ? kv_heads : 1;
  const std::int64_t entries = step_.layout == KvLayout::paged ? table_entries(step_) : 0;
  for (const TensorView& view : {kv_.k, kv_.v, kv_.k_scale, kv_.v_scale, step_.q})
    copy_.add(view, Use::read);
  if (args_.q != nullptr) copy_.add(with_data(step_.q, args_.q), Use::read);
  for (const float* scale : {args_.q_scale, args_.k_scale, args_.v_scale})
    copy_.add(scale, scales * 4, Use::read);
  copy_.add(args_.sinks, shape.q_heads * std::int64_t{4}, Use::read);
  copy_.add(step_.tables.pages, entries * 4, Use::read);
  copy_.add(step_.tables.positions, entries * 4, Use::read);
  copy_.add(step_.out, Use::written);
  copy_.add(step_.lse, Use::written);
  if (args_.out != nullptr) copy_.add(with_data(step_.out, args_.out), Use::written);
  if (args_.lse != nullptr) copy_.add(with_data(step_.lse, args_.lse), Use::written);
  copy_.send();

  const auto move = [&](auto& view) {
    if (!view) return;
    view.device = kGpu;
    view.data = extent_bytes(view) > 0 ? copy_.at(view.data) : nullptr;
  };
  const auto move_pointer = [&](auto*& pointer) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(copy_.at(pointer));
  };
  move(step_.q), move(step_.out), move(step_.lse);
  move(kv_.k), move(kv_.v), move(kv_.k_scale), move(kv_.v_scale);
  move_pointer(args_.q_scale), move_pointer(args_.k_scale), move_pointer(args_.v_scale);
  move_pointer(args_.sinks);
  if (entries == 0) step_.tables.pages = step_.tables.positions = nullptr;
  move_pointer(step_.tables.pages), move_pointer(step_.tables.positions);
  step_.tables.device = kGpu;
  args_.q = copy_.at(args_.q);
  args_.out = copy_.at(args_.out);
  move_pointer(args_.lse);
}

void PlacedStep::run(Plan& plan, const KvBinding& binding, Workspace& workspace) {
  workspace.poison();
  if (on_device_) copy_.send_written();
  args_.kv = &binding;
  args_.workspace = workspace.data();
  plan.check(args_);
  plan.run(args_);
  if (on_device_) {
    finish_on_device();
    copy_.fetch_written();
  }
  if (!workspace.guard_intact()) throw std::runtime_error("wrote behind the workspace");
}

}  // namespace headwise::conformance
