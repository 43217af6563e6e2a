#include <immintrin.h>

#include <cstring>

#include "bench/probe_kernels.h"

namespace headwise::bench {
namespace {

constexpr int kAccumulators = 4;  // a tile product ends before the fourth after it starts

/// The 64 bytes that LDTILECFG reads: palette 1, eight tiles of 16 rows of 64 bytes. Source: Intel
/// Software Developer's Manual, volume 1, section 18.
struct TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

[[gnu::target("amx-tile,amx-bf16")]] float dot(std::int64_t rounds) {
  alignas(64) const TileConfig config;
  alignas(64) std::uint8_t tile[1024] = {};
  _tile_loadconfig(&config);
  _tile_loadd(4, tile, 64);
  _tile_loadd(5, tile, 64);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t round = 0; round < rounds; ++round) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  _tile_stored(0, tile, 64);
  _tile_release();
  float first = 0.0F;
  std::memcpy(&first, tile, sizeof(first));
  return first;
}

bool runs_on(const CpuInfo& cpu) { return cpu.amx_bf16; }

}  // namespace

const ProbeKernels amx_probes{.name = "amx",
                              .runs_on = runs_on,
                              .read = nullptr,
                              .fma = nullptr,
                              .fma_flops = 0.0,
                              .dot = dot,
                              .dot_flops = 2.0 * 16 * 16 * 32 * kAccumulators};

}  // namespace headwise::bench
