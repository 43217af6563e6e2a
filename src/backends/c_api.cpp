#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/check.h"
#include "headwise/headwise.h"
#include "headwise/merge.h"
#include "headwise/registry.h"
#include "headwise/version.h"

struct headwise_plan {
  const headwise::Backend* backend;
  std::unique_ptr<headwise::Plan> plan;
  std::string name;
  std::string text;
};

struct headwise_binding {
  std::unique_ptr<headwise::KvBinding> binding;
};

namespace headwise {
namespace {

std::string& last_error() {
  thread_local std::string text;
  return text;
}

/// Runs `body`; what it throws becomes a status and this thread's error text.
template <class Body>
headwise_status guarded(Body&& body) noexcept {
  try {
    body();
    return HEADWISE_OK;
  } catch (const Error& error) {
    last_error() = error.what();
    switch (error.code()) {
      case ErrorCode::invalid_input:
        return HEADWISE_INVALID_INPUT;
      case ErrorCode::unknown_name:
        return HEADWISE_UNKNOWN_NAME;
      case ErrorCode::not_possible:
        return HEADWISE_NOT_POSSIBLE;
    }
  } catch (const std::exception& error) {
    last_error() = error.what();
  } catch (...) {
    last_error() = "an unknown failure";
  }
  return HEADWISE_FAILED;
}

template <class Struct>
void check_given(const Struct* value, const char* name) {
  check(value != nullptr, name, " is null");
  check(value->bytes == sizeof(Struct), name, ".bytes is ", value->bytes, "; headwise_", name,
        "_init sets ", sizeof(Struct));
}

DType to_dtype(std::int32_t value, const char* field) {
  check(value >= HEADWISE_F32 && value <= HEADWISE_I8, field, " is ", value,
        "; a headwise_dtype is 0 to 4");
  return static_cast<DType>(value);
}

Device to_device(const headwise_device& device, const char* field) {
  check(device.type == HEADWISE_CPU || device.type == HEADWISE_CUDA, field, ".device.type is ",
        device.type, "; a headwise_device_type is 0 or 1");
  return {static_cast<DeviceType>(device.type), device.index};
}

MutableTensorView to_view(const headwise_tensor& tensor, const char* field) {
  MutableTensorView view;
  if (tensor.rank == 0) return view;
  check(tensor.rank > 0 && tensor.rank <= MutableTensorView::kMaxRank, field, ".rank is ",
        tensor.rank, "; at most 4");
  view.data = tensor.data;
  view.dtype = to_dtype(tensor.dtype, field);
  view.device = to_device(tensor.device, field);
  view.rank = tensor.rank;
  for (int i = 0; i < tensor.rank; ++i) {
    view.sizes[i] = tensor.sizes[i];
    view.strides[i] = tensor.strides[i];
  }
  return view;
}

AttentionShape to_shape(const headwise_shape* shape) {
  check_given(shape, "shape");
  AttentionShape to{.q_heads = shape->q_heads,
                    .kv_heads = shape->kv_heads,
                    .head_dim_qk = shape->head_dim_qk,
                    .head_dim_v = shape->head_dim_v,
                    .q_type = to_dtype(shape->q_type, "q_type"),
                    .kv_type = to_dtype(shape->kv_type, "kv_type"),
                    .window_left = shape->window_left,
                    .window_right = shape->window_right,
                    .softcap = shape->softcap,
                    .sinks = shape->sinks != 0,
                    .v_is_k_prefix = shape->v_is_k_prefix != 0};
  check(shape->fp8_scale == HEADWISE_SCALE_TENSOR || shape->fp8_scale == HEADWISE_SCALE_KV_HEAD,
        "fp8_scale is ", shape->fp8_scale, "; a headwise_scales is 0 or 1");
  to.fp8_scale = static_cast<ScaleGranularity>(shape->fp8_scale);
  if (shape->has_scale != 0) to.scale = shape->scale;
  return to;
}

template <class Number>
std::span<const Number> to_span(const Number* values, std::int64_t count, const char* field,
                                bool needed) {
  check(values != nullptr || !needed || count == 0, field, " is null");
  return values == nullptr ? std::span<const Number>{}
                           : std::span(values, static_cast<std::size_t>(count));
}

StepBatch to_step(const headwise_step* step) {
  check_given(step, "step");
  check(step->requests >= 0, "requests is ", step->requests);
  check(step->layout == HEADWISE_PAGED || step->layout == HEADWISE_PACKED, "layout is ",
        step->layout, "; a headwise_layout is 0 or 1");
  const bool packed = step->layout == HEADWISE_PACKED;
  const headwise_tables& tables = step->tables;
  return {.q = to_view(step->q, "q"),
          .out = to_view(step->out, "out"),
          .lse = to_view(step->lse, "lse"),
          .q_lens = to_span(step->q_lens, step->requests, "q_lens", true),
          .kv_lens = to_span(step->kv_lens, step->requests, "kv_lens", true),
          .q_start = to_span(step->q_start, step->requests, "q_start", false),
          .layout = packed ? KvLayout::packed : KvLayout::paged,
          .tables = {.page_size = tables.page_size,
                     .pool_pages = tables.pool_pages,
                     .columns = tables.columns,
                     .heads = tables.heads,
                     .pages = tables.pages,
                     .positions = tables.positions,
                     .request_stride = tables.request_stride,
                     .head_stride = tables.head_stride,
                     .device = to_device(tables.device, "tables")},
          .kv_start = to_span(step->kv_start, step->requests, "kv_start", packed),
          .packed_tokens = step->packed_tokens,
          .device_lengths = {step->device_q_lens, step->device_kv_lens, step->device_q_start}};
}

PlanOptions to_options(const headwise_options* options) {
  if (options == nullptr) return {};
  check_given(options, "options");
  return {.threads = options->threads,
          .batch_invariant = options->batch_invariant != 0,
          .capacity = {.requests = options->capacity_requests,
                       .tokens = options->capacity_tokens,
                       .q_len = options->capacity_q_len,
                       .kv_len = options->capacity_kv_len,
                       .pairs = options->capacity_pairs}};
}

MutableKvView to_kv(const headwise_kv* kv) {
  check_given(kv, "kv");
  return {.k = to_view(kv->k, "k"),
          .v = to_view(kv->v, "v"),
          .k_scale = to_view(kv->k_scale, "k_scale"),
          .v_scale = to_view(kv->v_scale, "v_scale")};
}

template <class Struct>
void init(Struct* value) {
  *value = Struct{};
  value->bytes = sizeof(Struct);
}

}  // namespace
}  // namespace headwise

using headwise::check;
using headwise::guarded;

void headwise_shape_init(headwise_shape* shape) {
  headwise::init(shape);
  shape->q_type = shape->kv_type = HEADWISE_BF16;
  shape->window_left = -1;
}
void headwise_step_init(headwise_step* step) {
  headwise::init(step);
  step->tables.heads = 1;
}
void headwise_kv_init(headwise_kv* kv) { headwise::init(kv); }
void headwise_options_init(headwise_options* options) { headwise::init(options); }
void headwise_args_init(headwise_args* args) { headwise::init(args); }
void headwise_append_init(headwise_append* append) { headwise::init(append); }

const char* headwise_version(void) { return headwise::version().data(); }
const char* headwise_last_error(void) { return headwise::last_error().c_str(); }

headwise_status headwise_plan_create(const headwise_shape* shape, const headwise_step* step,
                                     const headwise_options* options, headwise_plan** plan) {
  return guarded([&] {
    check(plan != nullptr, "plan is null");
    const headwise::AttentionShape to_shape = headwise::to_shape(shape);
    const headwise::StepBatch to_step = headwise::to_step(step);
    const headwise::PlanOptions to_options = headwise::to_options(options);
    const char* wish = options != nullptr && options->backend != nullptr ? options->backend : "";
    headwise::validate(to_shape, to_step);
    const headwise::Choice choice = headwise::Registry::builtin().choose(
        headwise::problem_of(to_shape, to_step, to_options), headwise::this_machine(),
        headwise::forced_backend(wish));
    auto made = std::make_unique<headwise_plan>();
    made->backend = choice.backend;
    made->plan = choice.backend->plan(to_shape, to_step, to_options);
    made->name = choice.backend->name();
    made->text = headwise::log_line(choice, "0", headwise::phase_of(to_step));
    *plan = made.release();
  });
}

headwise_status headwise_plan_update(headwise_plan* plan, const headwise_step* step) {
  return guarded([&] {
    check(plan != nullptr, "plan is null");
    plan->plan->update(headwise::to_step(step));
  });
}

int64_t headwise_plan_workspace_bytes(const headwise_plan* plan) {
  return plan != nullptr ? plan->plan->workspace_bytes() : 0;
}
const char* headwise_plan_text(const headwise_plan* plan) {
  return plan != nullptr ? plan->text.c_str() : "";
}
const char* headwise_plan_backend(const headwise_plan* plan) {
  return plan != nullptr ? plan->name.c_str() : "";
}
void headwise_plan_free(headwise_plan* plan) { delete plan; }

headwise_status headwise_bind(const headwise_plan* plan, const headwise_kv* kv,
                              headwise_binding** binding) {
  return guarded([&] {
    check(plan != nullptr, "plan is null");
    check(binding != nullptr, "binding is null");
    const headwise::KvView view = headwise::to_kv(kv);
    auto made = std::make_unique<headwise_binding>();
    made->binding = plan->backend->bind(plan->plan->shape(), view, plan->plan->layout());
    *binding = made.release();
  });
}

void headwise_binding_free(headwise_binding* binding) { delete binding; }

headwise_status headwise_run(headwise_plan* plan, const headwise_args* args) {
  return guarded([&] {
    check(plan != nullptr, "plan is null");
    headwise::check_given(args, "args");
    const headwise::RunArgs to_args{.kv = args->kv != nullptr ? args->kv->binding.get() : nullptr,
                                    .sinks = args->sinks,
                                    .q_scale = args->q_scale,
                                    .k_scale = args->k_scale,
                                    .v_scale = args->v_scale,
                                    .workspace = args->workspace,
                                    .stream = args->stream,
                                    .q = args->q,
                                    .out = args->out,
                                    .lse = args->lse};
    plan->plan->check(to_args);
    plan->plan->run(to_args);
  });
}

headwise_status headwise_append_kv(const headwise_plan* plan, const headwise_step* step,
                                   const headwise_kv* cache, const headwise_append* append) {
  return guarded([&] {
    check(plan != nullptr, "plan is null");
    headwise::check_given(append, "append");
    const headwise::AppendArgs args{.k = headwise::to_view(append->k, "new k"),
                                    .v = headwise::to_view(append->v, "new v"),
                                    .cache = headwise::to_kv(cache),
                                    .k_scale = append->k_scale,
                                    .v_scale = append->v_scale,
                                    .saturated = append->saturated,
                                    .first_rows = append->first_rows,
                                    .stream = append->stream};
    plan->backend->append_kv(plan->plan->shape(), headwise::to_step(step), args);
  });
}

headwise_status headwise_merge(int64_t parts, const headwise_tensor* outs,
                               const headwise_tensor* lses, const float* sinks,
                               const headwise_tensor* out, const headwise_tensor* lse) {
  return guarded([&] {
    check(parts >= 0, "parts is ", parts);
    check(parts == 0 || (outs != nullptr && lses != nullptr), "outs or lses is null");
    check(out != nullptr, "out is null");
    std::vector<headwise::PartialResult> to_parts;
    for (int64_t i = 0; i < parts; ++i)
      to_parts.push_back({headwise::to_view(outs[i], "outs"), headwise::to_view(lses[i], "lses")});
    headwise::merge(
        to_parts, sinks, headwise::to_view(*out, "out"),
        lse != nullptr ? headwise::to_view(*lse, "lse") : headwise::MutableTensorView{});
  });
}
