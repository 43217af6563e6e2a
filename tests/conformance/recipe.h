#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headwise/backend.h"
#include "tests/conformance/features.h"
#include "tests/conformance/poisoned_tensor.h"

namespace headwise::conformance {

/// All that a case is made of, in plain numbers; random ones come from a Spec, tests write their
/// own.
struct Recipe {
  AttentionShape shape;
  std::vector<std::int32_t> q_lens;   ///< [requests] tokens
  std::vector<std::int32_t> kv_lens;  ///< [requests] keys
  std::vector<std::int32_t> q_start;  ///< [requests] positions, or empty

  KvLayout layout = KvLayout::paged;
  int page_size = 16;  ///< tokens
  int table_heads = 1;
  bool padded_tables = false;
  bool shared_prefix =
      false;  ///< requests read the first request's keys where they can, and say so
  /// [requests * table_heads][pages of the request]: position of a page's first slot; or empty
  std::vector<std::vector<std::int32_t>> page_pos;

  Memory k_memory = Memory::dense;
  Memory v_memory = Memory::dense;
  bool v_beside_k = false;  ///< each row of V follows the same row of K, in one buffer
  Memory q_memory = Memory::dense;
  Memory out_memory = Memory::dense;
  bool wants_lse = true;
  Memory lse_memory = Memory::dense;
  bool f32_out = false;

  bool with_scales = false;  ///< f8e4m3 tensors have scales other than 1
  float sink_low = -2.0F;
  float sink_high = 4.0F;
  double q_spread = 1.0;     ///< standard deviation of q's elements
  double key_growth = 0.0;   ///< K's is 1 at first and this much more at the request's end
  double value_scale = 1.0;  ///< i8: how large values' scales are, beside ordinary ones

  PlanOptions options{.threads = 1, .capacity = {}};  ///< more threads only slow small cases down
  std::uint64_t seed = 1;                             ///< of tables and numbers

  std::int64_t requests() const { return static_cast<std::int64_t>(q_lens.size()); }
  std::int64_t tokens() const;  ///< new tokens
  int pages_of(std::size_t request) const { return (kv_lens[request] + page_size - 1) / page_size; }
  /// Position of the first new token.
  std::int64_t start_of(std::size_t request) const;
  /// Where slot `slot` of a request stands, in the table of KV head `head`.
  std::int64_t position_of(std::size_t request, int head, std::int32_t slot) const;
  /// Whether any row of the request sees a key at `position`.
  bool seen_by_request(std::size_t request, std::int64_t position) const;
  /// Whether new token `row` of the request sees a key at `position`.
  bool seen_by_row(std::size_t request, std::int32_t row, std::int64_t position) const;
  /// Whether new token `row` sees any key in the table of KV head `head`.
  bool row_has_keys(std::size_t request, std::int32_t row, int head) const;
};

Recipe make_recipe(const Spec& spec, Rng& rng);

/// The shape and the batch in words; two recipes of the same text pose the same problem.
std::string to_string(const Recipe& recipe);

/// Bound on |out - exact| / |exact| over a request.
double out_bound(const AttentionShape& shape);
/// Bound on |lse - exact|.
double lse_bound(const AttentionShape& shape, double exact);

}  // namespace headwise::conformance
