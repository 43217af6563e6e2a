#include "headwise/picked_pages.h"

#include <algorithm>
#include <limits>

#include "attention/validate.h"
#include "core/check.h"
#include "kv/kept_pages.h"
#include "kv/kv_cache_state.h"
#include "kv/stored_number.h"

namespace headwise {

/// Puts a step's picks into the form that kernels read.
class PagePicker {
 public:
  /// Room for `columns` entries a request and head.
  PagePicker(const KvStep& step, int group, int heads, std::int32_t columns)
      : state_(step.cache().state()), group_(group) {
    picked_.page_size_ = state_.options.page_size;
    picked_.pool_pages_ = state_.pool(group).refs().size();
    picked_.heads_ = heads;
    picked_.columns_ = columns;
    picked_.device_ = state_.memory().device();
    picked_.q_lens_.assign(step.q_lens().begin(), step.q_lens().end());
    picked_.entries_.resize(picked_.q_lens_.size() * static_cast<std::size_t>(heads) *
                            static_cast<std::size_t>(columns));
  }

  /// Entries of the next request, `heads` rows of as many, each in ascending order, of those from
  /// `first` on. The last one is the same in all rows.
  void add(std::span<const std::int32_t> entries, std::int32_t first, std::int32_t kv_len) {
    const std::size_t request = picked_.kv_lens_.size();
    const std::size_t count = entries.size() / static_cast<std::size_t>(picked_.heads_);
    for (int head = 0; head < picked_.heads_; ++head)
      std::ranges::copy(entries.subspan(static_cast<std::size_t>(head) * count, count),
                        picked_.entries_.begin() + row(request, head));
    std::int32_t seen = 0;
    if (count > 0) {
      const std::int32_t in_last = kv_len - entries.back() * picked_.page_size_;
      seen = static_cast<std::int32_t>(count - 1) * picked_.page_size_ +
             std::min(in_last, picked_.page_size_);
    }
    picked_.counts_.push_back(static_cast<std::int32_t>(count));
    picked_.kv_lens_.push_back(seen);
    picked_.q_start_.push_back(kv_len - picked_.q_lens_[request]);
    picked_.tokens_ += kv_len - std::int64_t{first} * picked_.page_size_;
    picked_.seen_tokens_ += seen;
  }

  PickedPages finish(const OpenStep& step, void* stream) && {
    std::vector<std::int32_t> tables(2 * picked_.entries_.size());
    for (std::size_t request = 0; request < picked_.counts_.size(); ++request) {
      const std::int32_t* pages = state_.sequences.table(group_, step.sequence(request).row);
      for (int head = 0; head < picked_.heads_; ++head)
        for (std::int32_t i = 0; i < picked_.counts_[request]; ++i) {
          const auto at = static_cast<std::size_t>(row(request, head) + i);
          tables[at] = pages[picked_.entries_[at]];
          tables[picked_.entries_.size() + at] = picked_.entries_[at] * picked_.page_size_;
        }
    }
    const auto bytes = static_cast<std::int64_t>(tables.size() * sizeof(std::int32_t));
    if (bytes == 0) return std::move(picked_);
    const std::shared_ptr<std::byte> memory = state_.memory().allocate(bytes);
    state_.memory().upload(memory.get(), tables.data(), bytes, stream);
    picked_.tables_ = {memory, reinterpret_cast<std::int32_t*>(memory.get())};
    return std::move(picked_);
  }

 private:
  std::int64_t row(std::size_t request, int head) const {
    return (static_cast<std::int64_t>(request) * picked_.heads_ + head) * picked_.columns_;
  }

  const KvCacheState& state_;
  int group_;
  PickedPages picked_;
};

namespace {

std::int32_t most_entries(const KvStep& step, int page_size) {
  std::int64_t most = 1;
  for (const std::int32_t kv_len : step.kv_lens())
    most = std::max(most, pages_of(kv_len, page_size));
  return static_cast<std::int32_t>(most);
}

/// All entries of a request that its window has not passed.
std::int32_t first_entry(const KvCacheState& state, int group, std::int32_t kv_len,
                         std::int32_t q_len) {
  return static_cast<std::int32_t>(
      first_kept_page(state.window_left(group), kv_len - q_len, state.options.page_size));
}

/// Scores a request's pages for one KV head by the bounds of their keys.
class PageScores {
 public:
  PageScores(const KvCacheState& state, int group, int layer, const TensorView& q)
      : bounds_(*state.bounds[static_cast<std::size_t>(group)]),
        shape_(state.pool(group).shape().group.shape),
        layer_(layer),
        q_(q),
        query_(static_cast<std::size_t>(shape_.head_dim_qk)) {}

  /// The greatest bound of the head's queries for each of `pages`.
  void score(std::int64_t token, int kv_head, std::span<const std::int32_t> pages,
             std::vector<float>& scores) {
    scores.assign(pages.size(), -std::numeric_limits<float>::infinity());
    for (int h = 0; h < shape_.group_size(); ++h) {
      const std::int64_t first =
          token * q_.strides[0] + (kv_head * shape_.group_size() + h) * q_.strides[1];
      for (int i = 0; i < shape_.head_dim_qk; ++i)
        query_[static_cast<std::size_t>(i)] = stored_number(q_, first + i);
      for (std::size_t p = 0; p < pages.size(); ++p)
        scores[p] = std::max(scores[p], bounds_.bound(layer_, pages[p], kv_head, query_.data()));
    }
  }

 private:
  const KeyBounds& bounds_;
  const AttentionShape& shape_;
  int layer_;
  const TensorView& q_;
  std::vector<float> query_;
};

void check_pick(const TopPages& pick) {
  check(pick.first_pages >= 0 && pick.last_pages >= 1, "first_pages is ", pick.first_pages,
        ", last_pages ", pick.last_pages, "; at least 0 and 1 are seen");
  check(pick.pages >= std::int64_t{pick.first_pages} + pick.last_pages, "pages is ", pick.pages,
        "; the first ", pick.first_pages, " and the last ", pick.last_pages, " are among them");
}

void check_q(const TensorView& q, const AttentionShape& shape, std::int64_t tokens) {
  check_view(q, {.field = "q", .rank = 3});
  check(q.device.type == DeviceType::cpu, "q is on ", to_string(q.device),
        "; pages are picked on the CPU");
  check(!is_8_bit(q.dtype), "q is ", name_of(q.dtype), "; it must be f32, f16 or bf16");
  check_size(q, "q", 0, tokens, "the step's tokens");
  check_size(q, "q", 1, shape.q_heads, "q_heads");
  check_size(q, "q", 2, shape.head_dim_qk, "head_dim_qk");
}

/// Entries first ... end - 1 of `pick.pages` pages: the first and the last ones, and between them
/// those of the greatest scores, earlier ones where equal.
void choose(std::span<const float> scores, std::int32_t first, std::int32_t end,
            const TopPages& pick, std::vector<std::int32_t>& chosen) {
  std::vector<std::int32_t> order;
  for (std::int32_t entry = first; entry < end; ++entry) order.push_back(entry);
  const auto free_first = order.begin() + pick.first_pages;
  const auto free_last = order.end() - pick.last_pages;
  const auto kept = free_first + (pick.pages - pick.first_pages - pick.last_pages);
  std::partial_sort(free_first, kept, free_last, [&](std::int32_t a, std::int32_t b) {
    const float score_a = scores[static_cast<std::size_t>(a - first)];
    const float score_b = scores[static_cast<std::size_t>(b - first)];
    return score_a != score_b ? score_a > score_b : a < b;
  });
  std::sort(free_first, kept);
  chosen.insert(chosen.end(), order.begin(), kept);
  chosen.insert(chosen.end(), free_last, order.end());
}

}  // namespace

PickedPages PickedPages::sinks_and_window(const KvStep& step, int group, const SinksAndWindow& pick,
                                          void* stream) {
  const KvCacheState& state = step.cache().state();
  state.check_group(group);
  check(pick.sink_tokens >= 0 && pick.window_tokens >= 0, "sink_tokens is ", pick.sink_tokens,
        ", window_tokens ", pick.window_tokens, "; neither may be below 0");
  const int page_size = state.options.page_size;
  PagePicker picker(step, group, 1, most_entries(step, page_size));
  std::vector<std::int32_t> entries;
  for (std::size_t r = 0; r < step.q_lens().size(); ++r) {
    const std::int32_t kv_len = step.kv_lens()[r];
    const std::int32_t begin = kv_len - step.q_lens()[r];
    const auto end = static_cast<std::int32_t>(pages_of(kv_len, page_size));
    const std::int32_t window = std::max(begin - pick.window_tokens, 0) / page_size;
    const auto sinks = static_cast<std::int32_t>(pages_of(pick.sink_tokens, page_size));
    entries.clear();
    const std::int32_t first = first_entry(state, group, kv_len, step.q_lens()[r]);
    for (std::int32_t entry = first; entry < end; ++entry)
      if (entry < sinks || entry >= window) entries.push_back(entry);
    picker.add(entries, first, kv_len);
  }
  return std::move(picker).finish(state.step, stream);
}

PickedPages PickedPages::top_pages(const KvStep& step, int group, int layer, const TensorView& q,
                                   const TopPages& pick) {
  const KvCacheState& state = step.cache().state();
  state.check_layer(group, layer);
  check(state.bounds[static_cast<std::size_t>(group)] != nullptr, "group ", group,
        " keeps no key_bounds, by which pages are picked");
  const AttentionShape& shape = state.pool(group).shape().group.shape;
  check_pick(pick);
  std::int64_t tokens = 0;
  for (const std::int32_t q_len : step.q_lens()) tokens += q_len;
  check_q(q, shape, tokens);

  PagePicker picker(step, group, shape.kv_heads, most_entries(step, state.options.page_size));
  PageScores scorer(state, group, layer, q);
  std::vector<float> scores;
  std::vector<std::int32_t> entries;
  std::int64_t token = 0;
  for (std::size_t r = 0; r < step.q_lens().size(); token += step.q_lens()[r++]) {
    const std::int32_t kv_len = step.kv_lens()[r];
    const std::int32_t q_len = step.q_lens()[r];
    const std::int32_t first = first_entry(state, group, kv_len, q_len);
    const auto end = static_cast<std::int32_t>(pages_of(kv_len, state.options.page_size));
    const std::int32_t* table = state.sequences.table(group, state.step.sequence(r).row);
    entries.clear();
    for (int head = 0; head < shape.kv_heads; ++head) {
      if (q_len != 1 || end - first <= pick.pages) {
        for (std::int32_t entry = first; entry < end; ++entry) entries.push_back(entry);
        continue;
      }
      scorer.score(token, head, {table + first, table + end}, scores);
      choose(scores, first, end, pick, entries);
    }
    picker.add(entries, first, kv_len);
  }
  return std::move(picker).finish(state.step, nullptr);
}

void PickedPages::describe(StepBatch& step) const {
  step.q_lens = q_lens_;
  step.kv_lens = kv_lens_;
  step.q_start = q_start_;
  step.layout = KvLayout::paged;
  step.prefix_group = {};
  step.prefix_tokens = {};
  step.tables = {.page_size = page_size_,
                 .pool_pages = pool_pages_,
                 .columns = columns_,
                 .heads = heads_,
                 .pages = tables_.get(),
                 .positions = tables_.get() + entries_.size(),
                 .request_stride = std::int64_t{columns_} * heads_,
                 .head_stride = columns_,
                 .device = device_};
}

std::string PickedPages::to_string() const {
  if (!is_approximate()) return concat("exact: all ", tokens_, " tokens seen");
  return concat("approximate: ", seen_tokens_, " of ", tokens_, " tokens seen");
}

std::span<const std::int32_t> PickedPages::picked(int request, int kv_head) const {
  check(request >= 0 && static_cast<std::size_t>(request) < counts_.size(), "request ", request,
        " of a step of ", counts_.size());
  check(kv_head >= 0 && (heads_ == 1 || kv_head < heads_), "KV head ", kv_head, " of ", heads_);
  const std::int64_t row =
      (std::int64_t{request} * heads_ + (heads_ == 1 ? 0 : kv_head)) * columns_;
  return std::span(entries_).subspan(
      static_cast<std::size_t>(row),
      static_cast<std::size_t>(counts_[static_cast<std::size_t>(request)]));
}

}  // namespace headwise
