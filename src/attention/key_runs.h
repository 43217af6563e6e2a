#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/mask.h"
#include "headwise/kv_binding.h"
#include "headwise/step_batch.h"

namespace headwise {

/// One request of a step, its defaults filled in.
struct Request {
  std::int64_t index = 0;      ///< in the step
  std::int64_t first_row = 0;  ///< its first new token among the step's
  std::int32_t q_len = 0;
  std::int32_t kv_len = 0;
  std::int64_t q_start = 0;  ///< position of its first new token

  PositionRange rows() const { return {q_start, q_start + q_len - 1}; }
};

/// Consecutive slots that lie one after another in memory and stand at consecutive positions.
struct KeyRun {
  std::int64_t slot = 0;      ///< first slot
  std::int64_t count = 0;     ///< slots
  std::int64_t position = 0;  ///< of the first slot
  std::int64_t page = 0;      ///< paged: in the pool; packed: 0
  std::int64_t token = 0;     ///< paged: first slot's place in the page; packed: in K and V

  /// The part of the run that lies in `range`; its count may be 0.
  KeyRun within(const PositionRange& range) const {
    const std::int64_t skip = std::clamp(range.first - position, std::int64_t{0}, count);
    const std::int64_t keep = std::clamp(range.last - position + 1, skip, count) - skip;
    return {slot + skip, keep, position + skip, page, token + skip};
  }
};

/// Distances in elements between neighbours of a K, V or scale view, paged or packed.
struct KvStrides {
  std::int64_t page = 0;
  std::int64_t head = 0;
  std::int64_t token = 0;

  KvStrides() = default;
  KvStrides(const TensorView& view, KvLayout layout)
      : page(layout == KvLayout::paged ? view.strides[0] : 0),
        head(view.strides[1]),
        token(view.strides[layout == KvLayout::paged ? 2 : 0]) {}

  std::int64_t offset(const KeyRun& run, std::int64_t kv_head) const {
    return run.page * page + kv_head * head + run.token * token;
  }
};

/// Calls `visit(run)` for what `seen` holds of the request's keys, in slot order, page by page. The
/// block table's entries of other pages are not read.
template <class Visit>
void for_each_key_run(const StepBatch& step, const Request& request, int kv_head,
                      const PositionRange& seen, Visit&& visit) {
  const std::int64_t kv_len = request.kv_len;
  if (step.layout == KvLayout::packed) {
    const KeyRun all{0, kv_len, 0, 0, kv_len > 0 ? step.kv_start[request.index] : 0};
    if (const KeyRun run = all.within(seen); run.count > 0) visit(run);
    return;
  }
  const BlockTables& tables = step.tables;
  const std::int64_t row =
      request.index * tables.request_stride + (tables.heads > 1 ? kv_head * tables.head_stride : 0);
  const std::int64_t page_size = tables.page_size;
  std::int64_t entry = 0;
  std::int64_t end = (kv_len + page_size - 1) / page_size;
  if (tables.positions == nullptr) {  // positions are slots: skip straight to the window
    entry = std::clamp(seen.first / page_size, std::int64_t{0}, end);
    end = seen.last < 0 ? entry : std::min(end, seen.last / page_size + 1);
  }
  for (; entry < end; ++entry) {
    const std::int64_t slot = entry * page_size;
    const std::int64_t position =
        tables.positions != nullptr ? tables.positions[row + entry] : slot;
    KeyRun run{slot, std::min(page_size, kv_len - slot), position, 0, 0};
    run = run.within(seen);
    if (run.count == 0) continue;
    run.page = tables.pages[row + entry];
    visit(run);
  }
}

}  // namespace headwise
