#include "cpu/append_kv.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "attention/key_runs.h"
#include "core/number_formats.h"
#include "cpu/load_row.h"

namespace headwise {
namespace {

constexpr int kChunk = 256;  // numbers that are widened at a time
constexpr std::int32_t kNaN = 0x7fffffff;
constexpr std::int32_t kInfinity = 0x7f800000;

std::int32_t magnitude(float value) { return std::bit_cast<std::int32_t>(value) & 0x7fffffff; }

/// A number below 2^22 to the nearest integer, ties to even, as vectors can do it.
int rounded(float x) {
  constexpr float kOnes = 0x1.8p23F;  // a float here counts in ones
  return std::bit_cast<int>(x + kOnes) - std::bit_cast<int>(kOnes);
}

/// Where one request's new tokens lie and go.
struct NewTokens {
  std::int64_t request;
  std::int64_t first_row;
  std::int64_t first_slot;
};

std::vector<NewTokens> new_tokens_of(const StepBatch& step) {
  std::vector<NewTokens> all;
  std::int64_t row = 0;
  for (std::int64_t r = 0; r < step.requests(); row += step.q_lens[r++])
    if (step.q_lens[r] > 0) all.push_back({r, row, step.kv_lens[r] - step.q_lens[r]});
  return all;
}

/// Where a slot lies, as a run of one key.
KeyRun place_of(const StepBatch& step, std::int64_t request, int head, std::int64_t slot) {
  if (step.layout == KvLayout::packed) return {.token = step.kv_start[request] + slot};
  const BlockTables& tables = step.tables;
  const std::int64_t row =
      request * tables.request_stride + (tables.heads > 1 ? head * tables.head_stride : 0);
  return {.page = tables.pages[row + slot / tables.page_size], .token = slot % tables.page_size};
}

/// The new rows of K or of V, and the part of the cache that they go to.
class RowWriter {
 public:
  RowWriter(const AttentionShape& shape, KvLayout layout, const TensorView& rows,
            const MutableTensorView& cache, const MutableTensorView& token_scales,
            const float* fp8_scales)
      : shape_(shape),
        rows_(rows),
        cache_(cache),
        strides_(cache, layout),
        token_scales_(static_cast<float*>(token_scales.data)),
        fp8_scales_(fp8_scales) {
    if (token_scales) scale_strides_ = KvStrides(token_scales, layout);
  }

  /// Returns how many numbers saturated.
  std::int64_t write(std::int64_t row, int head, const KeyRun& place) const {
    const std::int64_t from = row * rows_.strides[0] + head * rows_.strides[1];
    std::byte* to =
        static_cast<std::byte*>(cache_.data) + strides_.offset(place, head) * size_of(cache_.dtype);
    if (rows_.dtype == cache_.dtype) {
      const std::int64_t size = size_of(cache_.dtype);
      std::memcpy(to, static_cast<const std::byte*>(rows_.data) + from * size,
                  static_cast<std::size_t>(rows_.sizes[2] * size));
      return 0;
    }
    if (cache_.dtype == DType::i8) {
      write_i8(from, reinterpret_cast<std::int8_t*>(to),
               token_scales_[scale_strides_.offset(place, head)]);
      return 0;
    }
    std::int64_t saturated = 0;
    for_each_chunk(from, [&](int first, const float* values, int count) {
      saturated += store(values, count, head, first, to);
    });
    return saturated;
  }

 private:
  /// Calls `visit(first, values, count)`, which make up the row.
  template <class Visit>
  void for_each_chunk(std::int64_t from, const Visit& visit) const {
    float values[kChunk];
    const auto dim = static_cast<int>(rows_.sizes[2]);
    for (int first = 0; first < dim; first += kChunk) {
      const int count = std::min(kChunk, dim - first);
      load_row(rows_.data, rows_.dtype, from + first, count, 1.0F, values);
      visit(first, values, count);
    }
  }

  std::int64_t store(const float* values, int count, int head, int first, std::byte* to) const {
    if (cache_.dtype == DType::f8e4m3)
      return store_e4m3(values, count, fp8_scale(head),
                        reinterpret_cast<std::uint8_t*>(to) + first);
    if (cache_.dtype == DType::f32) {
      auto* words = reinterpret_cast<std::int32_t*>(to) + first;
      for (int i = 0; i < count; ++i)
        words[i] = std::isnan(values[i]) ? kNaN : std::bit_cast<std::int32_t>(values[i]);
      return 0;
    }
    auto* halves = reinterpret_cast<std::uint16_t*>(to) + first;
    if (cache_.dtype == DType::bf16)
      for (int i = 0; i < count; ++i)
        halves[i] = std::isnan(values[i]) ? 0x7fff : float_to_bf16(values[i]);
    else
      for (int i = 0; i < count; ++i)
        halves[i] = std::isnan(values[i]) ? 0x7fff : float_to_f16(values[i]);
    return 0;
  }

  static std::int64_t store_e4m3(const float* values, int count, float scale, std::uint8_t* codes) {
    int saturated = 0;
    for (int i = 0; i < count; ++i) {
      const float value = values[i] / scale;
      codes[i] = std::isnan(value) ? 0x7f : float_to_e4m3(value);
      saturated += std::fabs(value) > 448.0F ? 1 : 0;
    }
    return saturated;
  }

  /// Magnitudes are compared as integers: above infinity there are NaNs.
  void write_i8(std::int64_t from, std::int8_t* codes, float& scale) const {
    std::int32_t largest = 0;
    for_each_chunk(from, [&](int, const float* values, int count) {
      for (int i = 0; i < count; ++i) largest = std::max(largest, magnitude(values[i]));
    });
    scale = std::bit_cast<float>(largest > kInfinity ? kNaN : largest) / 127.0F;
    if (largest >= kInfinity || scale == 0.0F)
      return static_cast<void>(std::fill_n(codes, rows_.sizes[2], std::int8_t{0}));
    const float divisor = scale;  // which no store to `codes` changes
    for_each_chunk(from, [&](int first, const float* values, int count) {
      for (int i = 0; i < count; ++i) {
        // A subnormal scale may be well below max|x| / 127.
        const float code = std::clamp(values[i] / divisor, -127.0F, 127.0F);
        codes[first + i] = static_cast<std::int8_t>(rounded(code));
      }
    });
  }

  float fp8_scale(int head) const {
    if (fp8_scales_ == nullptr) return 1.0F;
    return fp8_scales_[shape_.fp8_scale == ScaleGranularity::kv_head ? head : 0];
  }

  const AttentionShape& shape_;
  const TensorView& rows_;
  const MutableTensorView& cache_;
  KvStrides strides_, scale_strides_;
  float* token_scales_;
  const float* fp8_scales_;
};

}  // namespace

void append_on_cpu(const AttentionShape& shape, const StepBatch& step, const AppendArgs& args) {
  const MutableKvView& cache = args.cache;
  const RowWriter k(shape, step.layout, args.k, cache.k, cache.k_scale, args.k_scale);
  const RowWriter v(shape, step.layout, args.v, cache.v, cache.v_scale, args.v_scale);
  const std::vector<NewTokens> requests = new_tokens_of(step);
  const std::int64_t rows = args.k.sizes[0];
  std::int64_t saturated = 0;
#pragma omp parallel for reduction(+ : saturated) if (rows > 1)
  for (std::int64_t row = 0; row < rows; ++row) {
    const NewTokens& tokens = *std::prev(std::upper_bound(
        requests.begin(), requests.end(), row,
        [](std::int64_t wanted, const NewTokens& request) { return wanted < request.first_row; }));
    const std::int64_t slot = tokens.first_slot + row - tokens.first_row;
    for (int head = 0; head < shape.kv_heads; ++head) {
      const KeyRun place = place_of(step, tokens.request, head, slot);
      saturated += k.write(row, head, place);
      if (args.v) saturated += v.write(row, head, place);
    }
  }
  if (shape.kv_type == DType::f8e4m3 && args.saturated != nullptr)
    *args.saturated += static_cast<std::uint64_t>(saturated);
}

}  // namespace headwise
