#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/number_formats.h"
#include "cpu/tiled/kernels.h"
#include "headwise/machine.h"

namespace headwise::tiled {
namespace {

constexpr int kDim = 256;

struct Candidate {
  const TileKernels* kernels;
  bool runs_here;
  bool pairs;  // products of bf16
};

std::vector<Candidate> candidates() {
  const CpuInfo& cpu = this_machine().cpu;
  return {{&kPortableF32, true, false},          {&kAvx2F32, cpu.avx2, false},
          {&kAvx512F32, cpu.avx512, false},      {&kAvx512VbmiF32, cpu.avx512_bf16, false},
          {&kAvx512Bf16, cpu.avx512_bf16, true}, {&kAmxBf16, cpu.amx_bf16, true}};
}

float number_of(Stored type, std::uint32_t code) {
  if (type == Stored::i8) return static_cast<float>(static_cast<std::int8_t>(code));
  if (type == Stored::f8e4m3) return e4m3_to_float(static_cast<std::uint8_t>(code));
  if (type == Stored::f16) return f16_to_float(static_cast<std::uint16_t>(code));
  return bf16_to_float(static_cast<std::uint16_t>(code));
}

/// A tile whose first key and value hold the codes first ... first + kDim - 1, the others being
/// dead. What is not finite is 0 in the key, since a query's 0 would make NaN of it.
struct OneKey {
  std::vector<std::byte> k, v, zeros;
  KeyTile tile{};

  OneKey(Stored type, std::uint32_t first)
      : k(static_cast<std::size_t>(kDim * stored_bytes(type))), v(k.size()), zeros(k.size()) {
    const std::int64_t bytes = stored_bytes(type);
    for (int i = 0; i < kDim; ++i) {
      const std::uint32_t code = first + static_cast<std::uint32_t>(i);
      std::memcpy(v.data() + i * bytes, &code, static_cast<std::size_t>(bytes));
      if (std::isfinite(number_of(type, code)))
        std::memcpy(k.data() + i * bytes, &code, static_cast<std::size_t>(bytes));
    }
    for (int i = 0; i < kTileKeys; ++i) {
      tile.k[i] = i == 0 ? k.data() : zeros.data();
      tile.v[i] = i == 0 ? v.data() : zeros.data();
      tile.position[i] = i == 0 ? 0 : kNowhere;
      tile.k_scale[i] = tile.v_scale[i] = i == 0 ? 1.0F : 0.0F;
    }
    tile.columns = 1;
  }
};

/// What `rows` rows of which the last asks for number `asked` of the key make of the tile: its top,
/// and the sums of values.
struct Folded {
  float top;
  std::vector<float> o;

  Folded(const TileKernels& kernels, Stored type, const KeyTile& tile, int rows, bool one_way,
         int asked) {
    const TileShape shape{.head_dim_qk = kDim,
                          .head_dim_v = kDim,
                          .q_type = Stored::bf16,
                          .kv_type = type,
                          .scale_log2 = 1.0F,
                          .softcap = 0.0F,
                          .cap_scale = 0.0F};
    const auto count = static_cast<std::size_t>(rows);
    const std::int64_t q_stride = kernels.q_stride(shape);
    const std::int64_t o_stride = kernels.o_stride(shape);
    std::vector<std::uint32_t> q(count * static_cast<std::size_t>(q_stride));
    std::vector<float> sums(count * static_cast<std::size_t>(o_stride));
    std::vector<float> tops(count, -std::numeric_limits<float>::infinity());
    std::vector<float> totals(count);
    const std::vector<std::int32_t> first(count, 0), last(count, 0);
    std::vector<std::uint32_t> scratch(static_cast<std::size_t>(kernels.scratch_words(shape)) + 16);
    auto* aligned = reinterpret_cast<std::uint32_t*>(
        (reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64);
    std::vector<std::uint16_t> query(kDim);
    query[static_cast<std::size_t>(asked)] = float_to_bf16(1.0F);
    kernels.load_query(shape, query.data(), 1, q.data() + (rows - 1) * q_stride);
    const RowTile row_tile{rows,        one_way,     first.data(),  last.data(), q.data(),
                           sums.data(), tops.data(), totals.data(), aligned};
    kernels.fold(shape, row_tile, tile, nullptr);
    top = tops.back();
    o.assign(sums.end() - o_stride, sums.end() - o_stride + kDim);
  }
};

/// BF16 dot products take subnormal numbers for 0, as the processor's manual has it.
bool same(float result, float number, bool pairs) {
  if (pairs && std::fpclassify(number) == FP_SUBNORMAL && result == 0.0F) return true;
  return result == number || (std::isnan(result) && std::isnan(number));
}

/// Every code from `first` on as a number of a key, for a query that asks for it, and of a value.
void check_codes(const Candidate& candidate, Stored type, std::uint32_t first, int rows,
                 bool one_way, int step) {
  const OneKey one(type, first);
  for (int asked = 0; asked < kDim; asked += step) {
    const Folded folded(*candidate.kernels, type, one.tile, rows, one_way, asked);
    const float of_key = number_of(type, first + static_cast<std::uint32_t>(asked));
    if (std::isfinite(of_key)) {
      ASSERT_TRUE(same(folded.top, of_key, candidate.pairs)) << "key's code " << first + asked;
    }
    for (int i = 0; i < kDim; ++i) {
      const float of_value = number_of(type, first + static_cast<std::uint32_t>(i));
      ASSERT_TRUE(same(folded.o[static_cast<std::size_t>(i)], of_value, candidate.pairs))
          << "value's code " << first + i << ", " << folded.o[static_cast<std::size_t>(i)];
    }
  }
}

/// All codes of a type through every way of multiplying: few rows on numbers as they lie, many
/// rows.
void check_type(Stored type, std::uint32_t codes, int step) {
  for (const Candidate& candidate : candidates()) {
    if (!candidate.runs_here || (candidate.pairs && type == Stored::f16)) continue;
    for (const int rows : {1, 4, 7, 40})
      for (const bool one_way : {false, true})
        for (std::uint32_t first = 0; first < codes; first += kDim) {
          SCOPED_TRACE(candidate.kernels->name);
          check_codes(candidate, type, first, rows, one_way, step);
          if (testing::Test::HasFatalFailure()) return;
        }
  }
}

TEST(StoredNumbers, E4m3) { check_type(Stored::f8e4m3, 256, 1); }
TEST(StoredNumbers, Int8) { check_type(Stored::i8, 256, 1); }
TEST(StoredNumbers, F16) { check_type(Stored::f16, 65536, 101); }
TEST(StoredNumbers, Bf16) { check_type(Stored::bf16, 65536, 101); }

}  // namespace
}  // namespace headwise::tiled
