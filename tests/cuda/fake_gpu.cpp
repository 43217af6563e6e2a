#include "tests/cuda/fake_gpu.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "tests/conformance/device_copy.h"
#include "tests/conformance/placed_step.h"
#include "tests/cuda/fake_memory.h"

namespace headwise::conformance {
namespace {

void expect_device(const void* begin, std::int64_t bytes, const char* what) {
  if (begin != nullptr && !is_fake_device_memory(begin, bytes))
    throw std::runtime_error(std::string(what) + " is not memory of the device");
}

template <class View>
View on_cpu(View view, const char* what) {
  if (!view) return view;
  if (view.device != Device{DeviceType::cuda, 0})
    throw std::runtime_error(std::string(what) + " is on " + to_string(view.device));
  if (extent_bytes(view) > 0) expect_device(view.data, extent_bytes(view), what);
  view.device = {};
  return view;
}

StepBatch on_cpu(StepBatch step) {
  step.q = on_cpu(step.q, "q");
  step.out = on_cpu(step.out, "out");
  step.lse = on_cpu(step.lse, "lse");
  const BlockTables& tables = step.tables;
  if (step.layout == KvLayout::paged && step.requests() > 0 && tables.columns > 0) {
    const std::int64_t bytes = 4 * ((step.requests() - 1) * tables.request_stride +
                                    (tables.heads - 1) * tables.head_stride + tables.columns);
    expect_device(tables.pages, bytes, "tables.pages");
    expect_device(tables.positions, bytes, "tables.positions");
  }
  step.tables.device = {};
  step.device_lengths = {};
  return step;
}

AppendArgs on_cpu(AppendArgs args) {
  args.k = on_cpu(args.k, "new k"), args.v = on_cpu(args.v, "new v");
  MutableKvView& cache = args.cache;
  cache.k = on_cpu(cache.k, "k"), cache.v = on_cpu(cache.v, "v");
  cache.k_scale = on_cpu(cache.k_scale, "k_scale"),
  cache.v_scale = on_cpu(cache.v_scale, "v_scale");
  for (const float* scale : {args.k_scale, args.v_scale}) expect_device(scale, 4, "a scale");
  expect_device(args.saturated, 8, "saturated");
  args.first_rows = nullptr;
  return args;
}

/// The step with the lengths that are on the device; rows stay where the host's put them.
class StepOnDevice {
 public:
  explicit StepOnDevice(const StepBatch& step)
      : step_(on_cpu(step)), lengths_(step.device_lengths) {
    for (const std::int32_t* lengths : {lengths_.q_lens, lengths_.kv_lens, lengths_.q_start})
      expect_device(lengths, 4 * step.requests(), "device_lengths");
  }

  /// Calls `visit(step)` for steps that make up the whole.
  template <class Visit>
  void for_each_part(const Visit& visit) const {
    if (lengths_.q_lens == nullptr && lengths_.kv_lens == nullptr) return visit(step_);
    std::int64_t token = 0;
    for (std::size_t r = 0; r < step_.q_lens.size(); token += step_.q_lens[r++]) {
      const std::int32_t q_len = lengths_.q_lens ? lengths_.q_lens[r] : step_.q_lens[r];
      const std::int32_t kv_len = lengths_.kv_lens ? lengths_.kv_lens[r] : step_.kv_lens[r];
      const std::int32_t q_start = lengths_.q_start ? lengths_.q_start[r] : kv_len - q_len;
      visit(one_request(r, token, q_len, kv_len, q_start));
    }
  }

 private:
  static StepBatch narrowed(StepBatch step, std::int64_t token, std::int64_t tokens) {
    const auto narrow = [&](auto& view) {
      if (!view) return;
      auto address = reinterpret_cast<std::uintptr_t>(view.data);
      address += static_cast<std::uintptr_t>(token * view.strides[0] * size_of(view.dtype));
      view.data = reinterpret_cast<void*>(address);
      view.sizes[0] = tokens;
    };
    narrow(step.q), narrow(step.out), narrow(step.lse);
    return step;
  }

  StepBatch one_request(std::size_t r, std::int64_t token, const std::int32_t& q_len,
                        const std::int32_t& kv_len, const std::int32_t& q_start) const {
    StepBatch step = narrowed(step_, token, q_len);
    step.q_lens = {&q_len, 1};
    step.prefix_group = step.prefix_tokens = {};
    step.kv_lens = {&kv_len, 1};
    step.q_start = {&q_start, 1};
    if (!step.kv_start.empty()) step.kv_start = step.kv_start.subspan(r, 1);
    const std::int64_t row = static_cast<std::int64_t>(r) * step.tables.request_stride;
    if (step.tables.pages != nullptr) step.tables.pages += row;
    if (step.tables.positions != nullptr) step.tables.positions += row;
    return step;
  }

  StepBatch step_;
  DeviceLengths lengths_;
};

class FakePlan final : public Plan {
 public:
  FakePlan(const Backend& cpu, Flaw flaw, const Problem& problem, const Support& support)
      : Plan("fake-gpu", support.row, problem.shape, problem.extent),
        cpu_(cpu),
        flaw_(flaw),
        options_(problem.options) {
    set_workspace_bytes(1000);
  }

  void run(const RunArgs& args) override {
    if (flaw_ == Flaw::breaks) throw DeviceFault("an illegal memory access was encountered");
    expect_device(args.workspace, workspace_bytes(), "workspace");
    std::memset(args.workspace, 0, static_cast<std::size_t>(workspace_bytes()));
    KvView kv = args.kv->view();
    kv.k = on_cpu(kv.k, "k"), kv.v = on_cpu(kv.v, "v");
    kv.k_scale = on_cpu(kv.k_scale, "k_scale"), kv.v_scale = on_cpu(kv.v_scale, "v_scale");
    for (const float* scale : {args.sinks, args.q_scale, args.k_scale, args.v_scale})
      expect_device(scale, 4, "a scale or sink");

    StepBatch whole = step();
    if (args.q != nullptr) whole.q.data = args.q;
    if (args.out != nullptr) whole.out.data = args.out;
    if (args.lse != nullptr) whole.lse.data = args.lse;
    StepOnDevice(whole).for_each_part([&](const StepBatch& part) { compute(part, kv, args); });
    spoil(whole, args);
  }

 private:
  void take(const StepBatch&) override {}

  void compute(const StepBatch& part, const KvView& kv, const RunArgs& args) {
    PlanOptions options = options_;
    options.capacity = {};
    const auto plan = cpu_.plan(shape(), part, options);
    const auto binding = cpu_.bind(shape(), kv, part.layout);
    Workspace workspace(cpu_, plan->workspace_bytes());
    RunArgs own = args;
    own.q = own.out = own.lse = nullptr;
    own.kv = binding.get();
    own.workspace = workspace.data();
    plan->run(own);
  }

  void spoil(const StepBatch& whole, const RunArgs& args) const {
    auto* out = static_cast<std::byte*>(whole.out.data);
    if (flaw_ == Flaw::writes_before_out) out[-1] = std::byte{0};
    if (flaw_ == Flaw::writes_behind_out) out[extent_bytes(whole.out)] = std::byte{0};
    if (flaw_ == Flaw::writes_behind_workspace)
      static_cast<std::byte*>(args.workspace)[workspace_bytes() + 3] = std::byte{0};
  }

  const Backend& cpu_;
  Flaw flaw_;
  PlanOptions options_;
};

}  // namespace

Support FakeGpu::explain(const Problem& problem, const Machine& machine) const {
  if (problem.device.type != DeviceType::cuda)
    return Support::no("tensors are on " + to_string(problem.device));
  Problem delegated = problem;
  delegated.device = {};
  return cpu_.explain(delegated, machine);
}

/// Lengths, first rows among them, are all on the device, or all the host's.
void FakeGpu::append(const AttentionShape& shape, const StepBatch& step,
                     const AppendArgs& args) const {
  const StepBatch host = on_cpu(step);
  const AppendArgs whole = on_cpu(args);
  if (args.first_rows == nullptr) return cpu_.append_kv(shape, host, whole);
  const DeviceLengths& lengths = step.device_lengths;
  for (const std::int32_t* numbers : {lengths.q_lens, lengths.kv_lens, args.first_rows})
    expect_device(numbers, 4 * step.requests(), "lengths");
  for (std::int64_t r = 0; r < step.requests(); ++r) {
    StepBatch one = host;
    one.q_lens = {lengths.q_lens + r, 1};
    one.kv_lens = {lengths.kv_lens + r, 1};
    one.tables.pages += r * one.tables.request_stride;
    AppendArgs part = whole;
    for (TensorView* rows : {&part.k, &part.v}) {
      rows->data = static_cast<const std::byte*>(rows->data) +
                   args.first_rows[r] * rows->strides[0] * size_of(rows->dtype);
      rows->sizes[0] = lengths.q_lens[r];
    }
    cpu_.append_kv(shape, one, part);
  }
}

std::unique_ptr<Plan> FakeGpu::make_plan(const Problem& problem, const Support& support) const {
  return std::make_unique<FakePlan>(cpu_, flaw_, problem, support);
}

}  // namespace headwise::conformance
