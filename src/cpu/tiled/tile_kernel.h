#pragma once

// The tiled kernel, written once over a thin instruction set `Isa` and compiled in the file of
// each. All names are file-local there: nothing compiled for a newer processor can be linked into
// older code. Algorithm: online softmax over tiles of keys (Milakov and Gimelshein 2018, section 3;
// FlashAttention-2, Dao 2023, algorithm 1), the query heads of a group being rows of one tile.

#include "cpu/tiled/tile.h"

namespace headwise::tiled {
namespace {

constexpr float kInfinity = __builtin_inff();
constexpr std::uint32_t kSignOfFloat = 0x80000000U;
constexpr std::uint32_t kSignsOfPair = 0x80008000U;

/// A count that is known when the code is compiled.
template <int N>
struct Count {
  static constexpr int value = N;
};

/// Calls body(Count<n>) for n in 1 ... Most.
template <int Most, class Body>
void with_count(int n, Body&& body) {
  if constexpr (Most > 1)
    if (n < Most) return with_count<Most - 1>(n, body);
  body(Count<Most>{});
}

constexpr std::int64_t padded(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

template <class Isa>
struct Kernel {
  using F = typename Isa::F;
  static constexpr int kLanes = Isa::kLanes;
  static constexpr int kPerUnit = Isa::kPairs ? 2 : 1;  // elements
  static constexpr int kSpan = kLanes * kPerUnit;       // elements of a vector of units
  static constexpr int kVectors = kTileKeys / kLanes;   // of a row of scores
  static constexpr int kFewRows = 8;  // up to here keys are multiplied as they lie, not transposed
  static constexpr int kPUnits = kTileKeys / kPerUnit;

  static std::int64_t q_stride(const TileShape& s) {
    return padded(s.head_dim_qk, kSpan) / kPerUnit;
  }
  static std::int64_t o_stride(const TileShape& s) { return padded(s.head_dim_v, kSpan); }
  static std::int64_t v_units(const TileShape& s) { return o_stride(s) / kPerUnit; }

  /// Where things lie in RowTile::scratch.
  struct Scratch {
    std::uint32_t* k_rows;    // [64, q_stride] keys as operands, where the cache's are not
    std::uint32_t* k_packed;  // [q_stride, 64] transposed
    std::uint32_t* v_rows;    // [64, v_units] values as operands, where the cache's are not
    std::uint32_t* v_packed;  // [32, o_stride] pairs of keys, for products of pairs
    float* s;                 // [row_block, 64]
    std::uint32_t* p;         // [row_block, kPUnits]
    float* correction;        // [row_block]
    std::int64_t words;

    Scratch(const TileShape& shape, std::uint32_t* base) {
      words = 0;
      const auto take = [&](std::int64_t count) {
        std::uint32_t* begin = base + words;
        words += padded(count, 16);
        return begin;
      };
      k_rows = take(kTileKeys * q_stride(shape));
      k_packed = take(kTileKeys * q_stride(shape));
      v_rows = take(kTileKeys * v_units(shape));
      v_packed = take(Isa::kPairs ? kPUnits * o_stride(shape) : 0);
      s = reinterpret_cast<float*>(take(Isa::kRows * kTileKeys));
      p = take(Isa::kRows * kPUnits);
      correction = reinterpret_cast<float*>(take(Isa::kRows));
    }
  };

  static std::int64_t scratch_words(const TileShape& shape) {
    return Scratch(shape, nullptr).words;
  }

  // ---- stored numbers to operands

  template <Stored kType>
  static void convert(const void* from, int count, std::uint32_t* to, std::int64_t units) {
    for (std::int64_t u = 0; u < units; u += kLanes) {
      const int at = static_cast<int>(u) * kPerUnit;
      const F low = Isa::template load<kType>(from, at, count - at);
      if constexpr (Isa::kPairs)
        Isa::store_pairs(to + u, low,
                         Isa::template load<kType>(from, at + kLanes, count - at - kLanes));
      else
        Isa::store(reinterpret_cast<float*>(to + u), low);
    }
  }

  static void convert(Stored type, const void* from, int count, std::uint32_t* to,
                      std::int64_t units) {
    switch (type) {
      case Stored::f32:
        return convert<Stored::f32>(from, count, to, units);
      case Stored::f16:
        return convert<Stored::f16>(from, count, to, units);
      case Stored::bf16:
        return convert<Stored::bf16>(from, count, to, units);
      case Stored::f8e4m3:
        return convert<Stored::f8e4m3>(from, count, to, units);
      case Stored::i8:
        return convert<Stored::i8>(from, count, to, units);
    }
  }

  static void load_query(const TileShape& shape, const void* from, bool negate, std::uint32_t* to) {
    const std::int64_t units = q_stride(shape);
    convert(shape.q_type, from, shape.head_dim_qk, to, units);
    if (!negate) return;
    for (std::int64_t u = 0; u < units; ++u) to[u] ^= Isa::kPairs ? kSignsOfPair : kSignOfFloat;
  }

  /// Whether stored rows serve as operands as they lie: of the products' type, and without a rest.
  static bool as_it_lies(Stored type, int head_dim) {
    return type == (Isa::kPairs ? Stored::bf16 : Stored::f32) && head_dim % kSpan == 0;
  }

  /// Points `rows` at the tile's keys or values as operands, in the cache or converted to `copies`.
  static void find_rows(const std::byte* const* stored, Stored type, int head_dim,
                        std::uint32_t* copies, std::int64_t units, const std::uint32_t** rows) {
    if (as_it_lies(type, head_dim)) {
      for (int i = 0; i < kTileKeys; ++i)
        rows[i] = reinterpret_cast<const std::uint32_t*>(stored[i]);
      return;
    }
    for (int i = 0; i < kTileKeys; ++i) {
      convert(type, stored[i], head_dim, copies + i * units, units);
      rows[i] = copies + i * units;
    }
  }

  static void fetch(const KeyTile* next, int key, std::int64_t k_bytes, std::int64_t v_bytes) {
    if (next == nullptr) return;
    for (std::int64_t b = 0; b < k_bytes; b += 64) __builtin_prefetch(next->k[key] + b);
    for (std::int64_t b = 0; b < v_bytes; b += 64) __builtin_prefetch(next->v[key] + b);
  }

  // ---- scores

  static void transpose_keys(const std::uint32_t* const* rows, std::int64_t units,
                             std::uint32_t* packed) {
    for (int key = 0; key < kTileKeys; key += kLanes)
      for (std::int64_t u = 0; u < units; u += kLanes)
        Isa::transpose(rows + key, u, packed + u * kTileKeys + key, kTileKeys);
  }

  /// s[R, 64] = q[R, units] times keys, transposed: a block of R rows and a few vectors at a time
  /// stays in registers.
  template <int R>
  static void scores(const std::uint32_t* q, std::int64_t units, const std::uint32_t* packed,
                     float* s) {
    constexpr int kBlock = Isa::kColumns;
    for (int column = 0; column < kTileKeys; column += kBlock * kLanes) {
      F sum[R][kBlock];
      for (int i = 0; i < R; ++i)
        for (int j = 0; j < kBlock; ++j) sum[i][j] = Isa::zero();
      const std::uint32_t* b = packed + column;
      for (std::int64_t u = 0; u < units; ++u, b += kTileKeys) {
        F keys[kBlock];
        for (int j = 0; j < kBlock; ++j) keys[j] = Isa::load_units(b + j * kLanes);
        for (int i = 0; i < R; ++i) {
          const F query = Isa::broadcast_unit(q + i * units + u);
          for (int j = 0; j < kBlock; ++j) sum[i][j] = Isa::multiply_add(sum[i][j], query, keys[j]);
        }
      }
      for (int i = 0; i < R; ++i)
        for (int j = 0; j < kBlock; ++j)
          Isa::store(s + i * kTileKeys + column + j * kLanes, sum[i][j]);
    }
  }

  /// The same for few rows: dot products along the head dimension, on keys as they lie.
  static void scores_as_it_lies(const std::uint32_t* q, int rows, std::int64_t units,
                                const std::uint32_t* const* keys, float* s) {
    for (int key = 0; key < kTileKeys; key += kLanes) {
      for (int i = 0; i < rows; ++i) {
        F sums[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) sums[lane] = Isa::zero();
        for (std::int64_t u = 0; u < units; u += kLanes) {
          const F query = Isa::load_units(q + i * units + u);
          for (int lane = 0; lane < kLanes; ++lane)
            sums[lane] =
                Isa::multiply_add(sums[lane], query, Isa::load_units(keys[key + lane] + u));
        }
        Isa::store(s + i * kTileKeys + key, Isa::sums_of(sums));
      }
    }
  }

  // ---- softmax

  /// Scores of one row to logits in base 2, less the largest so far, to weights in p.
  static void soften(const TileShape& shape, const RowTile& rows, int row, const KeyTile& tile,
                     bool masked, float* s, std::uint32_t* p, float* correction) {
    F x[kVectors];
    for (int j = 0; j < kVectors; ++j) x[j] = Isa::load_floats(s + j * kLanes);
    if (shape.kv_type == Stored::i8)
      for (int j = 0; j < kVectors; ++j)
        x[j] = Isa::mul(x[j], Isa::load_floats(tile.k_scale + j * kLanes));
    if (shape.softcap > 0.0F)
      for (int j = 0; j < kVectors; ++j)
        x[j] = Isa::mul(Isa::set(shape.softcap),
                        hyperbolic_tangent(Isa::mul(x[j], Isa::set(shape.cap_scale))));
    if (masked)
      for (int j = 0; j < kVectors; ++j)
        x[j] = Isa::where_between(tile.position + j * kLanes, rows.first_seen[row],
                                  rows.last_seen[row], x[j], Isa::set(-kInfinity));
    F most = x[0];
    for (int j = 1; j < kVectors; ++j) most = Isa::max(most, x[j]);
    const float tile_top = Isa::largest(most) * shape.scale_log2;
    const float top = tile_top > rows.top[row] ? tile_top : rows.top[row];
    if (!(top > -kInfinity)) return nothing_seen(rows, row, x, p, correction);

    *correction = one_power_of_two(rows.top[row] - top);
    F sum = Isa::zero();
    for (int j = 0; j < kVectors; ++j) {
      x[j] = power_of_two(Isa::fma(x[j], Isa::set(shape.scale_log2), Isa::set(-top)));
      sum = Isa::add(sum, x[j]);
    }
    rows.top[row] = top;
    rows.total[row] = rows.total[row] * *correction + Isa::sum(sum);
    store_weights(shape, tile, x, p);
  }

  static void store_weights(const TileShape& shape, const KeyTile& tile, F* x, std::uint32_t* p) {
    if (shape.kv_type == Stored::i8)
      for (int j = 0; j < kVectors; ++j)
        x[j] = Isa::mul(x[j], Isa::load_floats(tile.v_scale + j * kLanes));
    if constexpr (Isa::kPairs) {
      for (int j = 0; j < kVectors; j += 2) Isa::store_pairs(p + j / 2 * kLanes, x[j], x[j + 1]);
    } else {
      for (int j = 0; j < kVectors; ++j) Isa::store(reinterpret_cast<float*>(p) + j * kLanes, x[j]);
    }
  }

  /// A row that has seen no key yet, or only logits of -inf; a NaN among them still counts.
  static void nothing_seen(const RowTile& rows, int row, const F* x, std::uint32_t* p,
                           float* correction) {
    F sum = Isa::zero();
    for (int j = 0; j < kVectors; ++j) sum = Isa::add(sum, x[j]);
    const float seen = Isa::sum(sum);
    if (seen != seen) rows.total[row] = seen;
    *correction = 1.0F;
    for (int u = 0; u < kPUnits; ++u) p[u] = 0;
  }

  /// 2^x by a polynomial on [-1/2, 1/2] (minimax in relative error), within 1 ulp; 0 from -151
  /// down.
  static F power_of_two(F x) {
    x = Isa::max(Isa::set(-200.0F), x);  // NaN passes: max gives its second operand
    const F whole = Isa::round(x);
    const F f = Isa::sub(x, whole);
    F p = Isa::set(1.5353360504377633e-4F);
    p = Isa::fma(p, f, Isa::set(1.3398875016719103e-3F));
    p = Isa::fma(p, f, Isa::set(9.61843691766262e-3F));
    p = Isa::fma(p, f, Isa::set(5.5503323674201965e-2F));
    p = Isa::fma(p, f, Isa::set(0.24022647738456726F));
    p = Isa::fma(p, f, Isa::set(0.6931471824645996F));
    p = Isa::fma(p, f, Isa::set(1.0F));
    return Isa::scale_by_power(p, whole);
  }

  static float one_power_of_two(float x) { return Isa::first(power_of_two(Isa::set(x))); }

  /// tanh: a series near 0, where the quotient would cancel.
  static F hyperbolic_tangent(F y) {
    const F square = Isa::mul(y, y);
    F series = Isa::set(62.0F / 2835.0F);
    series = Isa::fma(series, square, Isa::set(-17.0F / 315.0F));
    series = Isa::fma(series, square, Isa::set(2.0F / 15.0F));
    series = Isa::fma(series, square, Isa::set(-1.0F / 3.0F));
    series = Isa::fma(Isa::mul(series, square), y, y);
    const F power =
        power_of_two(Isa::mul(Isa::abs(y), Isa::set(-2.8853900817779268F)));  // e^(-2|y|)
    const F one = Isa::set(1.0F);
    const F quotient = Isa::div(Isa::sub(one, power), Isa::add(one, power));
    return Isa::where_less(Isa::abs(y), Isa::set(0.25F), series, Isa::copy_sign(quotient, y));
  }

  // ---- weights times values

  static void interleave_values(const std::uint32_t* const* rows, std::int64_t columns,
                                std::uint32_t* packed) {
    for (int key = 0; key < kTileKeys; key += 2)
      for (std::int64_t c = 0; c < columns; c += kSpan)
        Isa::interleave(rows[key] + c / 2, rows[key + 1] + c / 2, packed + key / 2 * columns + c);
  }

  /// o[R, columns] = o * correction + p[R, keys] times values; `values[u]` are the operands of p's
  /// unit u.
  template <int R, int kBlock>
  static void accumulate(const std::uint32_t* p, const std::uint32_t* const* values,
                         std::int64_t column, std::int64_t o_stride, const float* correction,
                         float* o) {
    F sum[R][kBlock];
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < kBlock; ++j)
        sum[i][j] = Isa::mul(Isa::set(correction[i]),
                             Isa::load_floats(o + i * o_stride + column + j * kLanes));
    for (int u = 0; u < kPUnits; ++u) {
      F value[kBlock];
      for (int j = 0; j < kBlock; ++j) value[j] = Isa::load_units(values[u] + column + j * kLanes);
      for (int i = 0; i < R; ++i) {
        const F weight = Isa::broadcast_unit(p + i * kPUnits + u);
        for (int j = 0; j < kBlock; ++j) sum[i][j] = Isa::multiply_add(sum[i][j], weight, value[j]);
      }
    }
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < kBlock; ++j)
        Isa::store(o + i * o_stride + column + j * kLanes, sum[i][j]);
  }

  template <int R>
  static void accumulate(const std::uint32_t* p, const std::uint32_t* const* values,
                         std::int64_t o_stride, const float* correction, float* o) {
    constexpr int kBlock = Isa::kColumns;
    std::int64_t column = 0;
    for (; column + kBlock * kLanes <= o_stride; column += kBlock * kLanes)
      accumulate<R, kBlock>(p, values, column, o_stride, correction, o);
    if (column < o_stride)
      with_count<kBlock>(static_cast<int>((o_stride - column) / kLanes), [&](auto block) {
        accumulate<R, decltype(block)::value>(p, values, column, o_stride, correction, o);
      });
  }

  // ---- a tile

  /// What a block of rows sees of a tile.
  enum class Sight { nothing, some, all };

  static Sight sight(const RowTile& rows, int first, int count, const KeyTile& tile) {
    bool any = false;
    bool all = tile.all_live;
    for (int row = first; row < first + count; ++row) {
      any |=
          rows.first_seen[row] <= tile.last_position && rows.last_seen[row] >= tile.first_position;
      all &=
          rows.first_seen[row] <= tile.first_position && rows.last_seen[row] >= tile.last_position;
    }
    return all ? Sight::all : any ? Sight::some : Sight::nothing;
  }

  static void fold(const TileShape& shape, const RowTile& rows, const KeyTile& tile,
                   const KeyTile* next) {
    const Scratch scratch(shape, rows.scratch);
    const std::int64_t units = q_stride(shape);
    const std::uint32_t* keys[kTileKeys];
    const std::uint32_t* values[kTileKeys];
    find_rows(tile.k, shape.kv_type, shape.head_dim_qk, scratch.k_rows, units, keys);
    find_rows(tile.v, shape.kv_type, shape.head_dim_v, scratch.v_rows, v_units(shape), values);
    const bool few = rows.rows <= kFewRows;
    if (!few) transpose_keys(keys, units, scratch.k_packed);
    if constexpr (Isa::kPairs) {
      interleave_values(values, o_stride(shape), scratch.v_packed);
      for (int u = 0; u < kPUnits; ++u) values[u] = scratch.v_packed + u * o_stride(shape);
    }
    for (int key = 0; key < kTileKeys; ++key)
      fetch(next, key, shape.head_dim_qk * stored_bytes(shape.kv_type),
            shape.head_dim_v * stored_bytes(shape.kv_type));
    for (int first = 0; first < rows.rows; first += Isa::kRows) {
      const int count = rows.rows - first < Isa::kRows ? rows.rows - first : Isa::kRows;
      const Sight seen = sight(rows, first, count, tile);
      if (seen == Sight::nothing) continue;
      with_count<Isa::kRows>(count, [&](auto block) {
        constexpr int R = decltype(block)::value;
        const std::uint32_t* q = rows.q + first * units;
        if (few)
          scores_as_it_lies(q, R, units, keys, scratch.s);
        else
          scores<R>(q, units, scratch.k_packed, scratch.s);
        for (int i = 0; i < R; ++i)
          soften(shape, rows, first + i, tile, seen == Sight::some, scratch.s + i * kTileKeys,
                 scratch.p + i * kPUnits, scratch.correction + i);
        accumulate<R>(scratch.p, values, o_stride(shape), scratch.correction,
                      rows.o + first * o_stride(shape));
      });
    }
  }

  static void store_output(const TileShape& shape, const float* o, float factor, Stored type,
                           void* to) {
    for (int i = 0; i < shape.head_dim_v; i += kLanes) {
      const F x = Isa::mul(Isa::load_floats(o + i), Isa::set(factor));
      Isa::store_as(type, x, to, i, shape.head_dim_v - i);
    }
  }

  template <F (*kFunction)(F)>
  static void map(const float* x, float* y, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += kLanes)
      Isa::store(y + i, kFunction(Isa::load_floats(x + i)));
  }

  static constexpr TileKernels kernels(const char* name) {
    return {name,
            Isa::kRows,
            Isa::kPairs,
            q_stride,
            o_stride,
            scratch_words,
            load_query,
            fold,
            store_output,
            map<power_of_two>,
            map<hyperbolic_tangent>};
  }
};

}  // namespace
}  // namespace headwise::tiled
