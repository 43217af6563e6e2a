#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headwise/kv_cache.h"
#include "headwise/kv_step.h"

namespace headwise {

// Approximate attention: a step's queries see some pages of their sequences instead of all. Nothing
// picks pages unless it is asked to. The keys that are seen are those of whole pages, and stand at
// their true positions, so that any backend that reads tables with positions computes attention
// over them exactly; what is left out is missing from the result.

/// The first tokens and the latest ones (Xiao et al. 2023, StreamingLLM, section 3.2; positions
/// stay what they are).
struct SinksAndWindow {
  std::int32_t sink_tokens = 4;
  std::int32_t window_tokens = 1024;  ///< before each request's first new token
};

/// Of each KV head the pages whose keys may have the greatest products with the group's queries, by
/// their bounds (Tang et al. 2024, Quest, section 3.3).
struct TopPages {
  std::int32_t pages = 64;       ///< a request and KV head, those below included
  std::int32_t first_pages = 1;  ///< always seen
  std::int32_t last_pages = 2;   ///< always seen: the latest tokens', at least 1
};

/// The pages that a step's requests see, as block tables with positions, and how much that is. Owns
/// the tables, which lie on the cache's device; a plan that reads them must not outlive it.
class PickedPages {
 public:
  /// The same pages for all KV heads and layers of a group. The step is open; its cache must
  /// outlive this.
  static PickedPages sinks_and_window(const KvStep& step, int group, const SinksAndWindow& pick,
                                      void* stream = nullptr);

  /// For one layer, whose new keys are appended already. `q` is the step's [tokens, q_heads,
  /// head_dim_qk] on the CPU, f32, f16 or bf16. Requests with several new tokens see all of their
  /// pages, as do those of few. Throws Error(invalid_input) where the group was made without
  /// key_bounds, too.
  static PickedPages top_pages(const KvStep& step, int group, int layer, const TensorView& q,
                               const TopPages& pick);

  /// Makes attention of `step` see these pages: fills in kv_lens, q_lens, q_start and tables.
  void describe(StepBatch& step) const;

  bool is_approximate() const { return seen_tokens_ < tokens_; }
  /// Tokens of the step's requests, as far as the pages reach that their windows hold, and those
  /// that they see: the same number in each KV head, though not the same tokens.
  std::int64_t tokens() const { return tokens_; }
  std::int64_t seen_tokens() const { return seen_tokens_; }
  /// "approximate: 1088 of 131072 tokens seen", or "exact: all 512 tokens seen".
  std::string to_string() const;

  /// Entries of a request's and KV head's table (0 where all heads have one), as page numbers of
  /// its sequence: entry k of the sequence's block table.
  std::span<const std::int32_t> picked(int request, int kv_head) const;

 private:
  friend class PagePicker;
  PickedPages() = default;

  std::int32_t page_size_ = 0;
  std::int64_t pool_pages_ = 0;
  int heads_ = 1;
  std::int32_t columns_ = 0;
  Device device_;
  std::vector<std::int32_t> q_lens_, kv_lens_, q_start_;  // [requests]
  std::vector<std::int32_t> counts_;                      // [requests] entries that count
  std::vector<std::int32_t> entries_;                     // [requests, heads, columns]
  std::shared_ptr<std::int32_t> tables_;  // on the device: pages, then positions, as entries_
  std::int64_t tokens_ = 0;
  std::int64_t seen_tokens_ = 0;
};

}  // namespace headwise
