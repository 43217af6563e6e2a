#include "cpu/tiled/isa_avx512bf16.h"
#include "cpu/tiled/kernels.h"
#include "cpu/tiled/tile_kernel.h"

namespace headwise::tiled {
namespace {

/// Eight tiles of rows of 64 bytes: 0-1 and 2-3 sums, 4 and 5 rows of A, 6-7 of B. The tiles of
/// sums and of A have as many rows as there are, so that nothing beside them is read or written.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16];

  explicit TileConfiguration(int count) {
    const auto upper = static_cast<std::uint8_t>(count < 16 ? count : 16);
    const auto lower = static_cast<std::uint8_t>(count > 16 ? count - 16 : 16);
    const std::uint8_t of_tiles[16] = {upper, upper, lower, lower, upper, lower, 16, 16};
    for (int i = 0; i < 16; ++i) rows[i] = of_tiles[i];
  }
};

/// GCC's tile intrinsics do not say that they touch memory.
void fence() { asm volatile("" ::: "memory"); }

struct AmxBf16 : Avx512Bf16 {
  static constexpr bool kMatrixTiles = true;

  /// c[rows, columns] = (add ? c : 0) + a[rows, units] b[units, columns], operands being pairs of
  /// bf16 and units and columns multiples of 16 and 32, at most 32 rows. Strides in 32-bit words.
  static void multiply_tiles(const std::uint32_t* a, std::int64_t a_stride, int rows,
                             std::int64_t units, const std::uint32_t* b, std::int64_t b_stride,
                             std::int64_t columns, bool add, float* c, std::int64_t c_stride) {
    const TileConfiguration configuration(rows);
    fence();
    _tile_loadconfig(&configuration);
    for (std::int64_t column = 0; column < columns; column += 32) {
      if (rows > 16)
        block<2>(a, 4 * a_stride, units, b + column, 4 * b_stride, add, c + column, 4 * c_stride);
      else
        block<1>(a, 4 * a_stride, units, b + column, 4 * b_stride, add, c + column, 4 * c_stride);
    }
    _tile_release();
    fence();
  }

  /// kHeight x 2 tiles of sums. Strides in bytes.
  template <int kHeight>
  static void block(const std::uint32_t* a, std::int64_t a_stride, std::int64_t units,
                    const std::uint32_t* b, std::int64_t b_stride, bool add, float* c,
                    std::int64_t c_stride) {
    const auto* lower_a =
        reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const char*>(a) + 16 * a_stride);
    auto* lower_c = reinterpret_cast<float*>(reinterpret_cast<char*>(c) + 16 * c_stride);
    if (add) {
      _tile_loadd(0, c, c_stride);
      _tile_loadd(1, c + 16, c_stride);
      if constexpr (kHeight == 2) {
        _tile_loadd(2, lower_c, c_stride);
        _tile_loadd(3, lower_c + 16, c_stride);
      }
    } else {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    }
    for (std::int64_t u = 0; u < units; u += 16) {
      const char* b_rows = reinterpret_cast<const char*>(b) + u * b_stride;
      _tile_loadd(6, b_rows, b_stride);
      _tile_loadd(7, b_rows + 64, b_stride);
      _tile_loadd(4, a + u, a_stride);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      if constexpr (kHeight == 2) {
        _tile_loadd(5, lower_a + u, a_stride);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
    }
    _tile_stored(0, c, c_stride);
    _tile_stored(1, c + 16, c_stride);
    if constexpr (kHeight == 2) {
      _tile_stored(2, lower_c, c_stride);
      _tile_stored(3, lower_c + 16, c_stride);
    }
  }
};

}  // namespace

const TileKernels kAmxBf16 = Kernel<AmxBf16>::kernels("amx bf16");

}  // namespace headwise::tiled
