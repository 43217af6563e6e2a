#include "tests/cuda/append_replays.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cuda/runtime/memory.h"
#include "tests/conformance/append_case.h"
#include "tests/conformance/device_copy.h"
#include "tests/conformance/placed_step.h"

namespace headwise::conformance {
namespace {

constexpr Device kGpu{DeviceType::cuda, 0};
constexpr std::byte kPoison{0xff};

void copy_in(const cuda::DeviceBuffer& buffer, const TensorView& view) {
  if (view && extent_bytes(view) > 0)
    cuda::copy_to_device(buffer.data(), view.data, extent_bytes(view));
}

/// Brings a dense view back; what lies behind it in the buffer must be poison still.
void copy_out(const cuda::DeviceBuffer& buffer, const MutableTensorView& view) {
  if (!view) return;
  const std::int64_t bytes = extent_bytes(view);
  std::vector<std::byte> all(static_cast<std::size_t>(buffer.size()));
  cuda::copy_to_host(all.data(), buffer.data(), buffer.size());
  std::copy_n(all.begin(), bytes, static_cast<std::byte*>(view.data));
  EXPECT_TRUE(std::all_of(all.begin() + bytes, all.end(), [](std::byte byte) {
    return byte == kPoison;
  })) << "wrote behind the pool";
}

/// What an engine keeps for a captured append: addresses and strides that stay, large enough for
/// each of some dense, paged cases of a shape.
class AppendBuffers {
 public:
  explicit AppendBuffers(const std::vector<AppendCase>& cases)
      : shape_(cases[0].recipe().shape),
        new_type_(cases[0].recipe().new_type),
        page_size_(cases[0].recipe().page_size) {
    for (const AppendCase& c : cases) {
      const AppendRecipe& recipe = c.recipe();
      q_bounds_.resize(recipe.q_lens.size());
      kv_bounds_.resize(recipe.q_lens.size());
      std::int64_t tokens = 0;
      for (std::size_t r = 0; r < q_bounds_.size(); ++r) {
        q_bounds_[r] = std::max(q_bounds_[r], recipe.q_lens[r]);
        kv_bounds_[r] = std::max(kv_bounds_[r], recipe.kv_lens[r]);
        tokens += recipe.q_lens[r];
      }
      tokens_ = std::max(tokens_, tokens);
      pages_ = std::max(pages_, c.step().tables.pool_pages);
      columns_ = std::max(columns_, c.step().tables.columns);
    }
    const std::int64_t requests = std::ssize(q_bounds_);
    const std::int64_t slots = pages_ * shape_.kv_heads * page_size_;
    const auto rows = [&](int dim) {
      return cuda::DeviceBuffer(0, tokens_ * shape_.kv_heads * dim * size_of(new_type_));
    };
    new_k_ = rows(shape_.head_dim_qk);
    new_v_ = rows(shape_.head_dim_v);
    k_ = cuda::DeviceBuffer(0, slots * shape_.head_dim_qk * size_of(shape_.kv_type));
    v_ = cuda::DeviceBuffer(0, slots * shape_.head_dim_v * size_of(shape_.kv_type));
    k_scale_ = cuda::DeviceBuffer(0, slots * 4);
    v_scale_ = cuda::DeviceBuffer(0, slots * 4);
    table_ = cuda::DeviceBuffer(0, requests * columns_ * 4);
    lengths_ = cuda::DeviceBuffer(0, 3 * requests * 4);
    fp8_scales_ = cuda::DeviceBuffer(0, 2 * shape_.kv_heads * 4);
    saturated_ = cuda::DeviceBuffer(0, 8);
  }

  StepBatch step() const {
    StepBatch step;
    step.q_lens = q_bounds_;
    step.kv_lens = kv_bounds_;
    step.tables = {.page_size = page_size_,
                   .pool_pages = pages_,
                   .columns = columns_,
                   .pages = table_.as<const std::int32_t>(),
                   .request_stride = columns_,
                   .device = kGpu};
    step.device_lengths.q_lens = lengths_.as<const std::int32_t>();
    step.device_lengths.kv_lens = lengths_.as<const std::int32_t>() + q_bounds_.size();
    return step;
  }

  AppendArgs args() const {
    const auto rows = [&](const cuda::DeviceBuffer& buffer, int dim) {
      return dense(static_cast<const void*>(buffer.data()), new_type_,
                   {tokens_, shape_.kv_heads, dim}, kGpu);
    };
    const auto pool = [&](const cuda::DeviceBuffer& buffer, int dim) {
      return dense(buffer.data(), shape_.kv_type, {pages_, shape_.kv_heads, page_size_, dim}, kGpu);
    };
    AppendArgs args;
    args.k = rows(new_k_, shape_.head_dim_qk);
    args.v = rows(new_v_, shape_.head_dim_v);
    args.cache.k = pool(k_, shape_.head_dim_qk);
    args.cache.v = pool(v_, shape_.head_dim_v);
    args.first_rows = lengths_.as<const std::int32_t>() + 2 * q_bounds_.size();
    args.saturated = saturated_.as<std::uint64_t>();
    if (shape_.kv_type == DType::f8e4m3) {
      args.k_scale = fp8_scales_.as<const float>();
      args.v_scale = fp8_scales_.as<const float>() + shape_.kv_heads;
    }
    if (shape_.kv_type == DType::i8)
      for (const auto& [view, buffer] :
           {std::pair{&args.cache.k_scale, &k_scale_}, std::pair{&args.cache.v_scale, &v_scale_}})
        *view = dense(buffer->data(), DType::f32, {pages_, shape_.kv_heads, page_size_}, kGpu);
    return args;
  }

  void put(const AppendCase& c) {
    for (const cuda::DeviceBuffer* buffer : {&k_, &v_, &k_scale_, &v_scale_})
      cuda::fill(buffer->data(), kPoison, buffer->size());
    cuda::fill(saturated_.data(), std::byte{0}, saturated_.size());
    Cache before = c.cache();
    const AppendArgs args = c.args(before);
    copy_in(new_k_, args.k), copy_in(new_v_, args.v);
    copy_in(k_, args.cache.k), copy_in(v_, args.cache.v);
    copy_in(k_scale_, args.cache.k_scale), copy_in(v_scale_, args.cache.v_scale);
    if (args.k_scale != nullptr) {
      const std::int64_t bytes = shape_.kv_heads * std::int64_t{4};
      cuda::copy_to_device(fp8_scales_.data(), args.k_scale, bytes);
      cuda::copy_to_device(fp8_scales_.as<float>() + shape_.kv_heads, args.v_scale, bytes);
    }
    put_places(c);
  }

  /// The cache after an append, as big as the case's.
  Cache fetch(const AppendCase& c, std::uint64_t& saturated) const {
    Cache cache = c.cache();
    const MutableKvView view = cache.view();
    copy_out(k_, view.k), copy_out(v_, view.v);
    copy_out(k_scale_, view.k_scale), copy_out(v_scale_, view.v_scale);
    cuda::copy_to_host(&saturated, saturated_.data(), 8);
    return cache;
  }

 private:
  void put_places(const AppendCase& c) {
    const AppendRecipe& recipe = c.recipe();
    const BlockTables tables = c.step().tables;
    std::vector<std::int32_t> table(static_cast<std::size_t>(table_.size() / 4), -1);
    std::vector<std::int32_t> lengths = recipe.q_lens;
    lengths.insert(lengths.end(), recipe.kv_lens.begin(), recipe.kv_lens.end());
    std::int32_t row = 0;
    for (std::size_t r = 0; r < recipe.q_lens.size(); row += recipe.q_lens[r++]) {
      std::copy_n(tables.pages + static_cast<std::int64_t>(r) * tables.request_stride,
                  tables.columns, table.data() + static_cast<std::int64_t>(r) * columns_);
      lengths.push_back(row);
    }
    cuda::copy_to_device(table_.data(), table.data(), table_.size());
    cuda::copy_to_device(lengths_.data(), lengths.data(), lengths_.size());
  }

  AttentionShape shape_;
  DType new_type_;
  int page_size_;
  std::vector<std::int32_t> q_bounds_, kv_bounds_;
  std::int64_t tokens_ = 0, pages_ = 0;  ///< at most
  std::int32_t columns_ = 0;
  cuda::DeviceBuffer new_k_, new_v_, k_, v_, k_scale_, v_scale_, table_, lengths_, fp8_scales_,
      saturated_;
};

/// Steps of as many requests each.
std::vector<AppendCase> cases_of(DType kv_type, int requests) {
  AppendRecipe recipe{.shape = {.q_heads = 3,
                                .kv_heads = 3,
                                .head_dim_qk = 128,
                                .head_dim_v = 64,
                                .kv_type = kv_type,
                                .fp8_scale = ScaleGranularity::kv_head},
                      .new_type = DType::bf16,
                      .with_scales = true};
  std::vector<AppendCase> cases;
  Rng rng(static_cast<std::uint64_t>(requests));
  for (recipe.seed = 1; recipe.seed <= 5; ++recipe.seed) {
    recipe.q_lens.clear();
    recipe.kv_lens.clear();
    for (int r = 0; r < requests; ++r) {
      const std::int64_t longest = requests < 10 ? 20 : 3;
      recipe.q_lens.push_back(rng.chance(3) ? 0 : static_cast<std::int32_t>(rng.below(longest)));
      recipe.kv_lens.push_back(recipe.q_lens.back() + static_cast<std::int32_t>(rng.below(100)));
    }
    cases.emplace_back(recipe);
  }
  return cases;
}

}  // namespace

void expect_appends_for_other_lengths(const Backend& backend, const CaptureLaunches& capture) {
  for (const int requests : {4, 230})
    for (const DType kv_type : {DType::f16, DType::f8e4m3, DType::i8}) {
      const std::vector<AppendCase> cases = cases_of(kv_type, requests);
      AppendBuffers buffers(cases);
      buffers.put(cases[0]);
      const AttentionShape& shape = cases[0].recipe().shape;
      const auto replay = capture([&](void* stream) {
        AppendArgs args = buffers.args();
        args.stream = stream;
        backend.append_kv(shape, buffers.step(), args);
      });
      for (const std::size_t next : {0, 1, 2, 3, 4, 1}) {
        const AppendCase& c = cases[next];
        SCOPED_TRACE("step " + std::to_string(next) + ": " + to_string(c.recipe()));
        buffers.put(c);
        replay();
        finish_on_device();
        std::uint64_t expected_count = 0;
        std::uint64_t count = 0;
        const Cache expected = c.expected(expected_count);
        EXPECT_EQ(difference(buffers.fetch(c, count), expected), "");
        EXPECT_EQ(count, expected_count);
      }
    }
}

}  // namespace headwise::conformance
