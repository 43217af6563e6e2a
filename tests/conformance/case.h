#pragma once

#include <cstdint>
#include <vector>

#include "headwise/kv_binding.h"
#include "headwise/plan.h"
#include "headwise/step_batch.h"
#include "tests/conformance/recipe.h"

namespace headwise::conformance {

/// A recipe's tensors and tables. Poisoned: slots that no row sees, page and table tails, entries
/// of pages that no row sees, spare pages, gaps between rows.
class Case {
 public:
  explicit Case(Recipe recipe);

  const Recipe& recipe() const { return recipe_; }
  const AttentionShape& shape() const { return recipe_.shape; }

  /// The step, writing to these tensors.
  StepBatch step(PoisonedTensor& out, PoisonedTensor& lse) const;
  KvView kv() const;
  /// Scales and sinks.
  RunArgs args() const;

  /// Outputs as the recipe wants them, poisoned.
  PoisonedTensor own_out() const;
  PoisonedTensor own_lse() const;  ///< absent where the recipe wants none
  /// Dense f32 outputs, for the exact answer.
  PoisonedTensor exact_out() const;
  PoisonedTensor exact_lse() const;

  // Stored numbers times their scales.
  std::vector<double> query(std::int64_t token, int head) const;
  std::vector<double> key(std::size_t request, int head, std::int32_t slot) const;
  std::vector<double> value(std::size_t request, int head, std::int32_t slot) const;

  // For tests that change single numbers.
  PoisonedTensor& q() { return q_; }
  /// Where a request's slot lies: an offset from K's or V's first element.
  std::int64_t key_offset(std::size_t request, int head, std::int32_t slot) const;
  std::int64_t value_offset(std::size_t request, int head, std::int32_t slot) const;
  void store_key(std::size_t request, int head, std::int32_t slot, int element, float value);
  void store_value(std::size_t request, int head, std::int32_t slot, int element, float value);
  const std::vector<float>& sinks() const { return sinks_; }

 private:
  void make_tables(Rng& rng);
  void make_starts(Rng& rng);
  void state_prefixes();
  std::int32_t shared_tokens(std::size_t request) const;
  void make_pools();
  void make_scales(Rng& rng);
  void fill_keys(Rng& rng);
  double value_mean() const;
  void fill_slot(std::int64_t block, int head, std::int64_t inside, double spread, Rng& rng);
  bool page_is_seen(std::size_t request, int head, int page) const;
  std::int32_t* table_row(std::size_t request, int head);
  const std::int32_t* table_row(std::size_t request, int head) const;

  struct Place {
    std::int64_t block;   ///< page; packed: token
    std::int64_t inside;  ///< slot in the page; packed: 0
  };
  Place place_of(std::size_t request, int head, std::int32_t slot) const;
  double scale_at(const PoisonedTensor& token_scales, const std::vector<float>& fp8_scales,
                  const Place& place, int head) const;
  std::int64_t offset_in(const PoisonedTensor& pool, const Place& place, int head) const;

  Recipe recipe_;
  PoisonedTensor q_;
  PoisonedTensor k_;
  PoisonedTensor v_;  ///< absent for K prefixes and V beside K
  PoisonedTensor k_scale_;
  PoisonedTensor v_scale_;
  std::vector<float> sinks_;
  std::vector<float> q_scales_, k_scales_, v_scales_;  ///< f8e4m3

  std::int64_t pool_blocks_ = 0;  ///< pages; packed: tokens
  std::int32_t columns_ = 0;
  std::int64_t head_stride_ = 0;
  std::int64_t request_stride_ = 0;
  std::vector<std::int32_t> pages_;
  std::vector<std::int32_t> positions_;
  std::vector<std::int64_t> kv_start_;
  std::vector<std::int32_t> prefix_group_;
  std::vector<std::int32_t> prefix_tokens_;
  std::vector<bool> filled_;
};

}  // namespace headwise::conformance
