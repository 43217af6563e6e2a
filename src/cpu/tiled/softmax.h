#pragma once

// Scores to weights by online softmax. File-local, as tile_kernel.h says.

#include "cpu/tiled/tile.h"
#include "cpu/tiled/vector_math.h"

namespace headwise::tiled {
namespace {

constexpr float kInfinity = __builtin_inff();

/// Of one row and one tile of keys. kFloats: weights are stored as floats, else as pairs of bf16.
template <class Isa>
struct Softmax {
  using F = typename Isa::F;
  static constexpr int kLanes = Isa::kLanes;
  static constexpr int kVectors = kTileKeys / kLanes;  // of a row of scores

  /// Scores of one row to logits in base 2, less the largest so far, to weights in p.
  template <bool kFloats>
  static void soften(const TileShape& shape, const RowTile& rows, int row, const KeyTile& tile,
                     bool masked, float* s, std::uint32_t* p, float* correction) {
    F x[kVectors];
    for (int j = 0; j < kVectors; ++j) x[j] = Isa::load_floats(s + j * kLanes);
    if (shape.kv_type == Stored::i8)
      for (int j = 0; j < kVectors; ++j)
        x[j] = Isa::mul(x[j], Isa::load_floats(tile.k_scale + j * kLanes));
    if (shape.softcap > 0.0F)
      for (int j = 0; j < kVectors; ++j)
        x[j] = Isa::mul(Isa::set(shape.softcap), VectorMath<Isa>::hyperbolic_tangent(
                                                     Isa::mul(x[j], Isa::set(shape.cap_scale))));
    if (masked)
      for (int j = 0; j < kVectors; ++j)
        x[j] = Isa::where_between(tile.position + j * kLanes, rows.first_seen[row],
                                  rows.last_seen[row], x[j], Isa::set(-kInfinity));
    F most = x[0];
    for (int j = 1; j < kVectors; ++j) most = Isa::max(most, x[j]);
    float top = rows.top[row];
    *correction = 1.0F;
    if (Isa::any_greater(Isa::mul(most, Isa::set(shape.scale_log2)), Isa::set(top))) {
      top = Isa::largest(most) * shape.scale_log2;
      *correction = VectorMath<Isa>::one_power_of_two(rows.top[row] - top);
    }
    if (!(top > -kInfinity)) return nothing_seen<kFloats>(rows, row, x, p);

    F sum = Isa::zero();
    for (int j = 0; j < kVectors; ++j) {
      x[j] = weight(Isa::fma(x[j], Isa::set(shape.scale_log2), Isa::set(-top)));
      sum = Isa::add(sum, x[j]);
    }
    rows.top[row] = top;
    rows.total[row] = rows.total[row] * *correction + Isa::sum(sum);
    store_weights<kFloats>(shape, tile, x, p);
  }

 private:
  /// 2^x, and 0 where a float holds the result only with fewer digits: beside the row's largest
  /// weight, 1, it is nothing, but processors take a hundred times longer to multiply it.
  static F weight(F x) {
    return Isa::where_less(x, Isa::set(-126.0F), Isa::zero(), VectorMath<Isa>::weight(x));
  }

  template <bool kFloats>
  static void store_weights(const TileShape& shape, const KeyTile& tile, F* x, std::uint32_t* p) {
    if (shape.kv_type == Stored::i8)
      for (int j = 0; j < kVectors; ++j)
        x[j] = Isa::mul(x[j], Isa::load_floats(tile.v_scale + j * kLanes));
    if constexpr (!kFloats) {
      for (int j = 0; j < kVectors; j += 2) Isa::store_pairs(p + j / 2 * kLanes, x[j], x[j + 1]);
    } else {
      for (int j = 0; j < kVectors; ++j) Isa::store(reinterpret_cast<float*>(p) + j * kLanes, x[j]);
    }
  }

  /// A row that has seen no key yet, or only logits of -inf; a NaN among them still counts.
  template <bool kFloats>
  static void nothing_seen(const RowTile& rows, int row, const F* x, std::uint32_t* p) {
    F sum = Isa::zero();
    for (int j = 0; j < kVectors; ++j) sum = Isa::add(sum, x[j]);
    const float seen = Isa::sum(sum);
    if (seen != seen) rows.total[row] = seen;
    for (int u = 0; u < (kFloats ? kTileKeys : kTileKeys / 2); ++u) p[u] = 0;
  }
};

}  // namespace
}  // namespace headwise::tiled
