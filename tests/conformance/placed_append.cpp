#include "tests/conformance/placed_append.h"

#include "tests/conformance/backend_choice.h"
#include "tests/conformance/placed_step.h"

namespace headwise::conformance {

using Use = DeviceCopy::Use;

PlacedAppend::PlacedAppend(const Backend& backend, const AttentionShape& shape,
                           const StepBatch& step, const AppendArgs& args)
    : backend_(backend),
      shape_(shape),
      step_(step),
      args_(args),
      on_device_(device_for(backend).type == DeviceType::cuda) {
  if (on_device_) copy_to_device();
}

void PlacedAppend::copy_to_device() {
  const std::int64_t scales =
      shape_.fp8_scale == ScaleGranularity::kv_head ? shape_.kv_heads : std::int64_t{1};
  BlockTables& tables = step_.tables;
  const std::int64_t entries = step_.layout == KvLayout::paged && step_.requests() > 0
                                   ? (step_.requests() - 1) * tables.request_stride +
                                         (tables.heads - 1) * tables.head_stride + tables.columns
                                   : 0;
  MutableKvView& cache = args_.cache;
  for (const TensorView& view : {args_.k, args_.v}) copy_.add(view, Use::read);
  for (const float* scale : {args_.k_scale, args_.v_scale}) copy_.add(scale, scales * 4, Use::read);
  copy_.add(tables.pages, entries * 4, Use::read);
  for (const MutableTensorView& view : {cache.k, cache.v, cache.k_scale, cache.v_scale})
    copy_.add(view, Use::written);
  copy_.add(args_.saturated, sizeof(std::uint64_t), Use::written);
  copy_.send();

  const auto move = [&](auto& view) {
    if (!view) return;
    view.device = {DeviceType::cuda, 0};
    view.data = extent_bytes(view) > 0 ? copy_.at(view.data) : nullptr;
  };
  const auto move_pointer = [&](auto*& pointer) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(copy_.at(pointer));
  };
  move(args_.k), move(args_.v);
  move(cache.k), move(cache.v), move(cache.k_scale), move(cache.v_scale);
  move_pointer(args_.k_scale), move_pointer(args_.v_scale), move_pointer(args_.saturated);
  if (entries == 0) tables.pages = nullptr;
  move_pointer(tables.pages);
  tables.device = {DeviceType::cuda, 0};
}

void PlacedAppend::run() {
  backend_.append_kv(shape_, step_, args_);
  if (!on_device_) return;
  finish_on_device();
  copy_.fetch_written();
}

}  // namespace headwise::conformance
