#include <array>

#include "cuda/sm80/kernel_row.h"

namespace headwise::cuda::sm80 {
namespace {

template <KvFormat kFormat, int kDimQk, int kDimV>
KernelFunctions invariant_functions() {
  if constexpr (kFormat == KvFormat::i8)
    return {};
  else
    return functions_of<TileConfig<kFormat, kDimQk, kDimV, true>>();
}

template <KvFormat kFormat, int kDimQk, int kDimV>
KernelRow row(const char* name) {
  using Config = TileConfig<kFormat, kDimQk, kDimV>;
  return {.name = name,
          .format = kFormat,
          .dim_qk = kDimQk,
          .dim_v = kDimV,
          .wide_rows = Config::kWideRows,
          .wide_keys = Config::kWideKeys,
          .narrow_rows = Config::kNarrowRows,
          .narrow_keys = Config::kNarrowKeys,
          .shared_bytes = Config::kSharedBytes,
          .functions = functions_of<Config>(),
          .invariant = invariant_functions<kFormat, kDimQk, kDimV>()};
}

}  // namespace

std::span<const KernelRow> kernel_rows() {
  static const std::array rows{row<KvFormat::bf16, 64, 64>("d64 bf16"),
                               row<KvFormat::bf16, 128, 128>("d128 bf16"),
                               row<KvFormat::bf16, 192, 128>("d192/128 bf16"),
                               row<KvFormat::bf16, 256, 256>("d256 bf16"),
                               row<KvFormat::f16, 64, 64>("d64 f16"),
                               row<KvFormat::f16, 128, 128>("d128 f16"),
                               row<KvFormat::f16, 192, 128>("d192/128 f16"),
                               row<KvFormat::f16, 256, 256>("d256 f16"),
                               row<KvFormat::f8, 64, 64>("d64 f8"),
                               row<KvFormat::f8, 128, 128>("d128 f8"),
                               row<KvFormat::f8, 192, 128>("d192/128 f8"),
                               row<KvFormat::f8, 256, 256>("d256 f8"),
                               row<KvFormat::i8, 64, 64>("d64 i8"),
                               row<KvFormat::i8, 128, 128>("d128 i8"),
                               row<KvFormat::i8, 192, 128>("d192/128 i8"),
                               row<KvFormat::i8, 256, 256>("d256 i8")};
  return rows;
}

}  // namespace headwise::cuda::sm80
