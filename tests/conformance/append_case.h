#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headwise/backend.h"
#include "tests/conformance/poisoned_tensor.h"

namespace headwise::conformance {

/// What an append is made of, in plain numbers.
struct AppendRecipe {
  AttentionShape shape;
  DType new_type = DType::f32;
  std::vector<std::int32_t> q_lens;   ///< [requests] new tokens
  std::vector<std::int32_t> kv_lens;  ///< [requests] keys, the new ones included
  KvLayout layout = KvLayout::paged;
  int page_size = 16;
  int table_heads = 1;
  Memory k_memory = Memory::dense;  ///< of the cache
  Memory v_memory = Memory::dense;
  Memory scale_memory = Memory::dense;
  Memory new_memory = Memory::dense;
  bool with_scales = false;       ///< f8e4m3 scales other than 1
  bool ordinary_numbers = false;  ///< else also NaN, infinities, huge and tiny ones
  std::uint64_t seed = 1;
};

AppendRecipe random_append(Rng& rng);
std::string to_string(const AppendRecipe& recipe);

/// A layer's K and V.
struct Cache {
  PoisonedTensor k, v, k_scale, v_scale;

  MutableKvView view();
  KvView view() const;
};

/// "" or which views or gaps between their elements differ in a bit.
std::string difference(const Cache& a, const Cache& b);

/// The chosen backends that this build and this machine have; appends need nothing else.
std::vector<const Backend*> appending_backends();

/// A recipe's new rows, tables and caches.
class AppendCase {
 public:
  explicit AppendCase(const AppendRecipe& recipe);

  const AppendRecipe& recipe() const { return recipe_; }
  /// Lengths, layout, tables and starts; no q.
  StepBatch step() const;
  AppendArgs args(Cache& cache) const;

  /// A cache of arbitrary bytes, the same ones every time.
  Cache cache() const;
  /// The same after the append, by the definition of the formats. `saturated` is the count.
  Cache expected(std::uint64_t& saturated) const;

  /// Appends on a backend, in copies on cuda:0 for those of GPUs. Throws std::runtime_error where
  /// memory beside the cache was written, DeviceFault where the GPU failed.
  void append(const Backend& backend, Cache& cache, std::uint64_t* saturated) const;

  /// A new token's row as it is, [head_dim_qk] or [head_dim_v].
  std::vector<double> new_row(bool of_v, std::int64_t token, int head) const;

 private:
  struct Place {
    std::int64_t block;   ///< page; packed: token
    std::int64_t inside;  ///< slot in the page; packed: 0
  };
  void make_tables(Rng& rng);
  void make_scales();
  void fill_new(PoisonedTensor& rows, Rng& rng) const;
  Place place_of(std::int64_t request, int head, std::int32_t slot) const;
  std::uint64_t convert(bool of_v, std::int64_t token, int head, const Place& place,
                        Cache& cache) const;

  AppendRecipe recipe_;
  std::int64_t tokens_ = 0;
  std::int64_t blocks_ = 0;  ///< pages; packed: tokens
  std::int32_t columns_ = 0;
  PoisonedTensor k_, v_;  ///< new rows
  std::vector<std::int32_t> pages_;
  std::vector<std::int64_t> kv_start_;
  std::vector<float> k_scales_, v_scales_;  ///< f8e4m3
};

}  // namespace headwise::conformance
