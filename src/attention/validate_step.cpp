#include <algorithm>
#include <limits>

#include "attention/key_runs.h"
#include "attention/validate.h"
#include "core/check.h"
#include "headwise/step_batch.h"

namespace headwise {
namespace {

constexpr std::int64_t kMaxPosition = std::numeric_limits<std::int32_t>::max();

void check_device(const Device& device, std::string_view field, const StepBatch& step) {
  check(device == step.q.device, field, ".device is ", to_string(device), "; q is on ",
        to_string(step.q.device));
}

void check_row_views(const AttentionShape& shape, const StepBatch& step, std::int64_t tokens) {
  check_view(step.q, {.field = "q", .rank = 3});
  check_dtype(step.q, "q", shape.q_type);
  check_size(step.q, "q", 0, tokens, "the sum of q_lens");
  check_size(step.q, "q", 1, shape.q_heads, "q_heads");
  check_size(step.q, "q", 2, shape.head_dim_qk, "head_dim_qk");

  const TensorView out = step.out;
  check_view(out, {.field = "out", .rank = 3, .written = true});
  if (out.dtype != DType::f32) check_dtype(out, "out", shape.out_type());
  check_size(out, "out", 0, tokens, "the sum of q_lens");
  check_size(out, "out", 1, shape.q_heads, "q_heads");
  check_size(out, "out", 2, shape.head_dim_v, "head_dim_v");
  check_device(out.device, "out", step);

  if (!step.lse) return;
  const TensorView lse = step.lse;
  check_view(lse, {.field = "lse", .rank = 2, .unit_last_stride = false, .written = true});
  check_dtype(lse, "lse", DType::f32);
  check_size(lse, "lse", 0, tokens, "the sum of q_lens");
  check_size(lse, "lse", 1, shape.q_heads, "q_heads");
  check_device(lse.device, "lse", step);
}

void check_table_fields(const AttentionShape& shape, const StepBatch& step) {
  const BlockTables& tables = step.tables;
  check(tables.page_size > 0, "tables.page_size is ", tables.page_size, "; it must be positive");
  check(tables.pool_pages >= 0, "tables.pool_pages is ", tables.pool_pages);
  check(tables.columns >= 0, "tables.columns is ", tables.columns);
  check(tables.heads == 1 || tables.heads == shape.kv_heads, "tables.heads is ", tables.heads,
        "; it must be 1 or kv_heads ", shape.kv_heads);
  check(step.requests() <= 1 || tables.request_stride >= tables.columns,
        "tables.request_stride is ", tables.request_stride, "; rows have ", tables.columns,
        " columns");
  check(tables.heads == 1 || tables.head_stride >= tables.columns, "tables.head_stride is ",
        tables.head_stride, "; rows have ", tables.columns, " columns");
  for (std::size_t r = 0; r < step.kv_lens.size(); ++r) {
    const std::int64_t needed =
        (std::int64_t{step.kv_lens[r]} + tables.page_size - 1) / tables.page_size;
    check(needed <= tables.columns, "tables.columns is ", tables.columns, "; request ", r,
          " with kv_lens[", r, "] ", step.kv_lens[r], " needs ", needed);
    check(needed == 0 || tables.pages != nullptr, "tables.pages is null");
  }
}

void check_packed(const StepBatch& step) {
  check(step.kv_start.size() == step.q_lens.size(), "kv_start has ", step.kv_start.size(),
        " entries; q_lens has ", step.q_lens.size());
  check(step.packed_tokens >= 0, "packed_tokens is ", step.packed_tokens);
  for (std::size_t r = 0; r < step.kv_start.size(); ++r)
    check(step.kv_start[r] >= 0 && step.kv_start[r] <= step.packed_tokens - step.kv_lens[r],
          "kv_start[", r, "] is ", step.kv_start[r], "; with kv_lens[", r, "] ", step.kv_lens[r],
          " it must lie within packed_tokens ", step.packed_tokens);
}

/// The entries that a kernel would read: those of pages that some row sees.
void check_table_entries(const AttentionShape& shape, const StepBatch& step) {
  const BlockTables& tables = step.tables;
  for (std::int64_t r = 0; r < step.requests(); ++r) {
    const std::int32_t q_len = step.q_lens[r];
    const std::int32_t kv_len = step.kv_lens[r];
    const std::int64_t q_start = step.q_start.empty() ? kv_len - q_len : step.q_start[r];
    const Request request{r, 0, q_len, kv_len, q_start};
    if (request.q_len == 0) continue;
    for (int head = 0; head < tables.heads; ++head) {
      const std::int64_t row =
          r * tables.request_stride + (head > 0 ? head * tables.head_stride : 0);
      const std::int64_t used = (std::int64_t{kv_len} + tables.page_size - 1) / tables.page_size;
      for (std::int64_t k = 0; tables.positions != nullptr && k < used; ++k) {
        const std::int64_t last =
            std::min<std::int64_t>(tables.page_size, kv_len - k * tables.page_size) - 1;
        check(tables.positions[row + k] >= 0 && tables.positions[row + k] <= kMaxPosition - last,
              "page_pos (tables.positions) entry ", k, " of request ", r, " is ",
              tables.positions[row + k], "; its ", last + 1, " slots must stand at 0 ... 2^31 - 1");
      }
      for_each_key_run(step, request, head, Mask(shape).seen_from(request.rows()),
                       [&](const KeyRun& run) {
                         check(run.page >= 0 && run.page < tables.pool_pages, "block table entry ",
                               run.slot / tables.page_size, " of request ", r, " is ", run.page,
                               "; the pool has ", tables.pool_pages, " pages");
                       });
    }
  }
}

}  // namespace

std::int64_t check_lengths(const StepBatch& step) {
  check(step.kv_lens.size() == step.q_lens.size(), "kv_lens has ", step.kv_lens.size(),
        " entries; q_lens has ", step.q_lens.size());
  check(step.q_start.empty() || step.q_start.size() == step.q_lens.size(), "q_start has ",
        step.q_start.size(), " entries; q_lens has ", step.q_lens.size());
  std::int64_t tokens = 0;
  for (std::size_t r = 0; r < step.q_lens.size(); ++r) {
    check(step.q_lens[r] >= 0, "q_lens[", r, "] is ", step.q_lens[r]);
    check(step.kv_lens[r] >= 0, "kv_lens[", r, "] is ", step.kv_lens[r]);
    check(step.q_start.empty() || step.q_start[r] <= kMaxPosition - step.q_lens[r], "q_start[", r,
          "] is ", step.q_start.empty() ? 0 : step.q_start[r], "; with q_lens[", r, "] ",
          step.q_lens[r], " positions pass 2^31 - 1");
    tokens += step.q_lens[r];
  }
  return tokens;
}

void check_key_places(const AttentionShape& shape, const StepBatch& step, const Device& device) {
  const DeviceLengths& lengths = step.device_lengths;
  check(device.type != DeviceType::cpu ||
            (lengths.q_lens == nullptr && lengths.kv_lens == nullptr && lengths.q_start == nullptr),
        "device_lengths are given, but the tensors are on the CPU");
  if (step.layout == KvLayout::packed) return check_packed(step);
  check_table_fields(shape, step);
  check(step.tables.device == device, "tables.device is ", to_string(step.tables.device),
        "; the tensors are on ", to_string(device));
}

void validate(const AttentionShape& shape, const StepBatch& step) {
  validate(shape);
  const std::int64_t tokens = check_lengths(step);
  check_row_views(shape, step, tokens);
  check(step.tree_mask == nullptr, "tree_mask is given; it is reserved and must be null");
  check_key_places(shape, step, step.q.device);
  if (step.layout == KvLayout::paged && step.q.device.type == DeviceType::cpu)
    check_table_entries(shape, step);
  check_prefixes(shape, step);
}

}  // namespace headwise
