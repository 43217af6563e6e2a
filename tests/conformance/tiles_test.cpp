// Requests of several tiles of rows and of keys, for every format and width of head that a kernel
// may have a row of its own for. Random cases hardly ever have both, since they would take too
// long.

#include <gtest/gtest.h>

#include "tests/conformance/every_backend.h"

namespace headwise::conformance {
namespace {

struct Format {
  DType q, kv;
};

struct Dims {
  int qk, v;
};

AttentionShape shape_of(const Format& format, const Dims& dims, int window_left) {
  return {.q_heads = 8,
          .kv_heads = 2,
          .head_dim_qk = dims.qk,
          .head_dim_v = dims.v,
          .q_type = format.q,
          .kv_type = format.kv,
          .window_left = window_left};
}

TEST(Tiles, ManyOfRowsAndKeysMeetTheBoundsInEveryFormatAndWidth) {
  for (const Format& format : {Format{DType::f32, DType::f32}, Format{DType::f16, DType::f16},
                               Format{DType::bf16, DType::bf16}, Format{DType::bf16, DType::f8e4m3},
                               Format{DType::bf16, DType::i8}})
    for (const Dims& dims : {Dims{64, 64}, Dims{96, 96}, Dims{128, 128}, Dims{192, 128},
                             Dims{200, 200}, Dims{256, 256}})
      for (const int window_left : {-1, 150}) {
        if (window_left >= 0 && format.kv != DType::bf16) continue;
        expect_bounds({.shape = shape_of(format, dims, window_left),
                       .q_lens = {70, 1, 5, 33},
                       .kv_lens = {231, 300, 257, 33}});
      }
}

}  // namespace
}  // namespace headwise::conformance
