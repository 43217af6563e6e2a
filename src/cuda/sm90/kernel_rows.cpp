#include <array>

#include "cuda/sm90/kernel_row.h"
#include "cuda/sm90/tile_config.h"
#include "cuda/sm90/wide_config.h"

namespace headwise::cuda::sm90 {
namespace {

template <class Config>
KernelRow row(const char* name) {
  return {.name = name,
          .format = Config::kFormat,
          .invariant = Config::kInvariant,
          .dim_qk = Config::kDimQk,
          .dim_v = Config::kDimV,
          .rows = Config::kRows,
          .keys = Config::kKeys,
          .shared_bytes = Config::kSharedBytes,
          .functions = functions_of<Config>()};
}

template <KvFormat kFormat, int kDimQk, int kDimV>
using Invariant = WideConfig<kFormat, kDimQk, kDimV, 128, true>;

}  // namespace

std::span<const KernelRow> kernel_rows() {
  using enum KvFormat;
  static const std::array rows{row<TileConfig<bf16, 64, 64, 8>>("d64 bf16 rows8"),
                               row<TileConfig<bf16, 64, 64, 16>>("d64 bf16 rows16"),
                               row<TileConfig<bf16, 64, 64, 32>>("d64 bf16 rows32"),
                               row<WideConfig<bf16, 64, 64, 64>>("d64 bf16 rows64"),
                               row<WideConfig<bf16, 64, 64, 128>>("d64 bf16 rows128"),
                               row<WideConfig<bf16, 64, 64, 192>>("d64 bf16 rows192"),
                               row<TileConfig<bf16, 128, 128, 8>>("d128 bf16 rows8"),
                               row<TileConfig<bf16, 128, 128, 16>>("d128 bf16 rows16"),
                               row<TileConfig<bf16, 128, 128, 32>>("d128 bf16 rows32"),
                               row<WideConfig<bf16, 128, 128, 64>>("d128 bf16 rows64"),
                               row<WideConfig<bf16, 128, 128, 128>>("d128 bf16 rows128"),
                               row<WideConfig<bf16, 128, 128, 192>>("d128 bf16 rows192"),
                               row<TileConfig<bf16, 192, 128, 8>>("d192/128 bf16 rows8"),
                               row<TileConfig<bf16, 192, 128, 16>>("d192/128 bf16 rows16"),
                               row<TileConfig<bf16, 192, 128, 32>>("d192/128 bf16 rows32"),
                               row<WideConfig<bf16, 192, 128, 64>>("d192/128 bf16 rows64"),
                               row<WideConfig<bf16, 192, 128, 128>>("d192/128 bf16 rows128"),
                               row<WideConfig<bf16, 192, 128, 192>>("d192/128 bf16 rows192"),
                               row<TileConfig<bf16, 256, 256, 8>>("d256 bf16 rows8"),
                               row<TileConfig<bf16, 256, 256, 16>>("d256 bf16 rows16"),
                               row<TileConfig<bf16, 256, 256, 32>>("d256 bf16 rows32"),
                               row<WideConfig<bf16, 256, 256, 128>>("d256 bf16 rows128"),
                               row<TileConfig<f16, 64, 64, 8>>("d64 f16 rows8"),
                               row<TileConfig<f16, 64, 64, 16>>("d64 f16 rows16"),
                               row<TileConfig<f16, 64, 64, 32>>("d64 f16 rows32"),
                               row<WideConfig<f16, 64, 64, 64>>("d64 f16 rows64"),
                               row<WideConfig<f16, 64, 64, 128>>("d64 f16 rows128"),
                               row<WideConfig<f16, 64, 64, 192>>("d64 f16 rows192"),
                               row<TileConfig<f16, 128, 128, 8>>("d128 f16 rows8"),
                               row<TileConfig<f16, 128, 128, 16>>("d128 f16 rows16"),
                               row<TileConfig<f16, 128, 128, 32>>("d128 f16 rows32"),
                               row<WideConfig<f16, 128, 128, 64>>("d128 f16 rows64"),
                               row<WideConfig<f16, 128, 128, 128>>("d128 f16 rows128"),
                               row<WideConfig<f16, 128, 128, 192>>("d128 f16 rows192"),
                               row<TileConfig<f16, 192, 128, 8>>("d192/128 f16 rows8"),
                               row<TileConfig<f16, 192, 128, 16>>("d192/128 f16 rows16"),
                               row<TileConfig<f16, 192, 128, 32>>("d192/128 f16 rows32"),
                               row<WideConfig<f16, 192, 128, 64>>("d192/128 f16 rows64"),
                               row<WideConfig<f16, 192, 128, 128>>("d192/128 f16 rows128"),
                               row<WideConfig<f16, 192, 128, 192>>("d192/128 f16 rows192"),
                               row<TileConfig<f16, 256, 256, 8>>("d256 f16 rows8"),
                               row<TileConfig<f16, 256, 256, 16>>("d256 f16 rows16"),
                               row<TileConfig<f16, 256, 256, 32>>("d256 f16 rows32"),
                               row<WideConfig<f16, 256, 256, 128>>("d256 f16 rows128"),
                               row<TileConfig<f8, 128, 128, 8>>("d128 f8 rows8"),
                               row<TileConfig<f8, 128, 128, 16>>("d128 f8 rows16"),
                               row<TileConfig<f8, 128, 128, 32>>("d128 f8 rows32"),
                               row<TileConfig<f8, 256, 256, 8>>("d256 f8 rows8"),
                               row<TileConfig<f8, 256, 256, 16>>("d256 f8 rows16"),
                               row<TileConfig<f8, 256, 256, 32>>("d256 f8 rows32"),
                               row<TileConfig<i8, 128, 128, 8>>("d128 i8 rows8"),
                               row<TileConfig<i8, 128, 128, 16>>("d128 i8 rows16"),
                               row<TileConfig<i8, 128, 128, 32>>("d128 i8 rows32"),
                               row<TileConfig<i8, 256, 256, 8>>("d256 i8 rows8"),
                               row<TileConfig<i8, 256, 256, 16>>("d256 i8 rows16"),
                               row<TileConfig<i8, 256, 256, 32>>("d256 i8 rows32"),
                               row<Invariant<bf16, 64, 64>>("d64 bf16 invariant"),
                               row<Invariant<bf16, 128, 128>>("d128 bf16 invariant"),
                               row<Invariant<bf16, 192, 128>>("d192/128 bf16 invariant"),
                               row<Invariant<bf16, 256, 256>>("d256 bf16 invariant"),
                               row<Invariant<f16, 64, 64>>("d64 f16 invariant"),
                               row<Invariant<f16, 128, 128>>("d128 f16 invariant"),
                               row<Invariant<f16, 192, 128>>("d192/128 f16 invariant"),
                               row<Invariant<f16, 256, 256>>("d256 f16 invariant")};
  return rows;
}

}  // namespace headwise::cuda::sm90
