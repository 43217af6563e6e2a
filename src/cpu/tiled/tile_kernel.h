#pragma once

// The tiled kernel, written once over a thin instruction set `Isa` and compiled in the file of
// each. All names are file-local there: nothing compiled for a newer processor can be linked into
// older code. Algorithm: online softmax over tiles of keys (Milakov and Gimelshein 2018, section 3;
// FlashAttention-2, Dao 2023, algorithm 1), the query heads of a group being rows of one tile.

#include "cpu/tiled/ahead.h"
#include "cpu/tiled/few_rows.h"
#include "cpu/tiled/key_columns.h"
#include "cpu/tiled/known.h"
#include "cpu/tiled/operands.h"
#include "cpu/tiled/softmax.h"
#include "cpu/tiled/tile.h"
#include "cpu/tiled/vector_math.h"

namespace headwise::tiled {
namespace {

constexpr std::uint32_t kSignOfFloat = 0x80000000U;
constexpr std::uint32_t kSignsOfPair = 0x80008000U;

template <class Isa>
struct Kernel {
  using F = typename Isa::F;
  static constexpr int kLanes = Isa::kLanes;
  static constexpr int kPerUnit = Operands<Isa>::kPerUnit;
  static constexpr int kSpan = Operands<Isa>::kSpan;
  // Up to here keys are multiplied as they lie, not transposed.
  static constexpr int kFewRows = Isa::kMatrixTiles ? 8 : 16;
  static constexpr int kFewDotRows = 8;
  static constexpr bool kDot =
      Isa::kPairs && !Isa::kMatrixTiles;  // of few rows, where keys are pairs
  static constexpr int kPUnits = kTileKeys / kPerUnit;
  static constexpr int kMostFew = kLanes < 8 ? kLanes : 8;  // few rows that are multiplied at once
  static constexpr int kRowBlock = Isa::kMatrixTiles       ? 32
                                   : kMostFew > Isa::kRows ? kMostFew
                                                           : Isa::kRows;

  static std::int64_t q_stride(const TileShape& s) {
    return padded(s.head_dim_qk, kSpan) / kPerUnit;
  }
  static std::int64_t q_floats(const TileShape& s) { return q_stride(s) * kPerUnit; }
  static std::int64_t o_stride(const TileShape& s) { return padded(s.head_dim_v, kSpan); }
  static std::int64_t v_units(const TileShape& s) { return o_stride(s) / kPerUnit; }

  /// Where things lie in RowTile::scratch.
  struct Scratch {
    std::uint32_t* k_rows;    // [64, q_stride] keys as operands, where the cache's are not
    std::uint32_t* k_packed;  // [q_stride, 64] transposed
    std::uint32_t* v_rows;    // [64, v_units] values as operands, where the cache's are not
    std::uint32_t* v_packed;  // [32, o_stride] pairs of keys, for products of pairs
    float* s;                 // [row_block, 64]
    std::uint32_t* p;         // [row_block, kPUnits], or of few rows floats [rows, 64]
    float* few_q;             // [few rows, q_floats] as FewRows has them
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
      s = reinterpret_cast<float*>(take(kRowBlock * kTileKeys));
      p = take(kRowBlock * kTileKeys);
      few_q = reinterpret_cast<float*>(take(kMostFew * q_floats(shape)));
      correction = reinterpret_cast<float*>(take(kRowBlock));
    }
  };

  static std::int64_t scratch_words(const TileShape& shape) {
    return Scratch(shape, nullptr).words;
  }

  static void load_query(const TileShape& shape, const void* from, int sign, std::uint32_t* to) {
    const std::int64_t units = q_stride(shape);
    Operands<Isa>::convert(shape.q_type, from, shape.head_dim_qk, to, units);
    if (sign > 0) return;
    for (std::int64_t u = 0; u < units; ++u)
      to[u] = sign == 0 ? 0 : to[u] ^ (Isa::kPairs ? kSignsOfPair : kSignOfFloat);
  }

  // ---- scores

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
                                const std::uint32_t* const* keys, Ahead& ahead, float* s) {
    for (int key = 0; key < kTileKeys; key += kLanes) {
      for (int i = 0; i < rows; ++i) {
        F sums[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) sums[lane] = Isa::zero();
        for (std::int64_t u = 0; u < units; u += kLanes) {
          ahead.fetch();
          const F query = Isa::load_units(q + i * units + u);
          for (int lane = 0; lane < kLanes; ++lane)
            sums[lane] =
                Isa::multiply_add(sums[lane], query, Isa::load_units(keys[key + lane] + u));
        }
        Isa::store(s + i * kTileKeys + key, Isa::sums_of(sums));
      }
    }
  }

  // ---- weights times values

  /// o[R, columns] = o * correction + p[R, keys] times values; `values[u]` are the operands of p's
  /// unit u.
  template <int R, int kBlock, bool kFetch>
  static void accumulate(const std::uint32_t* p, const std::uint32_t* const* values,
                         std::int64_t column, std::int64_t o_stride, const float* correction,
                         Ahead& ahead, float* o) {
    F sum[R][kBlock];
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < kBlock; ++j)
        sum[i][j] = Isa::mul(Isa::set(correction[i]),
                             Isa::load_floats(o + i * o_stride + column + j * kLanes));
    for (int u = 0; u < kPUnits; ++u) {
      if constexpr (kFetch) ahead.fetch();
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

  template <int R, bool kFetch>
  static void accumulate(const std::uint32_t* p, const std::uint32_t* const* values,
                         std::int64_t o_stride, const float* correction, Ahead& ahead, float* o) {
    constexpr int kBlock = Isa::kColumns;
    std::int64_t column = 0;
    for (; column + kBlock * kLanes <= o_stride; column += kBlock * kLanes)
      accumulate<R, kBlock, kFetch>(p, values, column, o_stride, correction, ahead, o);
    if (column < o_stride)
      with_count<kBlock>(static_cast<int>((o_stride - column) / kLanes), [&](auto block) {
        accumulate<R, decltype(block)::value, kFetch>(p, values, column, o_stride, correction,
                                                      ahead, o);
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
    const bool dot = kDot && Operands<Isa>::as_it_lies(shape.kv_type, shape.head_dim_qk);
    const bool one_way = rows.one_way && Isa::kPairs;
    const bool few = rows.rows <= (dot ? kFewDotRows : kFewRows) && !one_way;
    if (few && !dot)
      return with_type(shape.kv_type, [&](auto type) {
        fold_few<decltype(type)::value>(shape, rows, tile, next == nullptr ? tile : *next);
      });
    const Scratch scratch(shape, rows.scratch);
    const std::int64_t units = q_stride(shape);
    const std::uint32_t* keys[kTileKeys];
    const std::uint32_t* values[kTileKeys];
    Operands<Isa>::find_rows(tile.k, shape.kv_type, shape.head_dim_qk, scratch.k_rows, units, keys);
    Operands<Isa>::find_rows(tile.v, shape.kv_type, shape.head_dim_v, scratch.v_rows,
                             v_units(shape), values);
    if (!few) Operands<Isa>::transpose_keys(keys, units, scratch.k_packed);
    if constexpr (Isa::kPairs) {
      Operands<Isa>::interleave_values(values, o_stride(shape), scratch.v_packed);
      for (int u = 0; u < kPUnits; ++u) values[u] = scratch.v_packed + u * o_stride(shape);
    }
    const int most = Isa::kMatrixTiles && !few ? kRowBlock : Isa::kRows;
    Ahead ahead = fetch_ahead(shape, next,
                              few ? calls_of_few(shape, rows.rows) : row_blocks(rows.rows, most));
    for (int first = 0; first < rows.rows;) {
      const int count = rows.rows - first < most ? rows.rows - first : most;
      const Sight seen = sight(rows, first, count, tile);
      if (!few) ahead.fetch();
      if (seen != Sight::nothing) {
        const Block block{first, count, seen == Sight::some, few};
        if (Isa::kMatrixTiles && !few)
          fold_block_in_tiles(shape, rows, tile, block, values[0], scratch);
        else
          fold_block(shape, rows, tile, block, keys, values, ahead, scratch);
      }
      first += count;
    }
  }

  /// All in F32, on keys and values as they are stored.
  template <Stored kType>
  static void fold_few(const TileShape& shape, const RowTile& rows, const KeyTile& tile,
                       const KeyTile& next) {
    const Scratch scratch(shape, rows.scratch);
    if (rows.one_way)
      KeyColumns<Isa, kType>::transpose(tile.k, shape.head_dim_qk, tile.v,
                                        reinterpret_cast<float*>(scratch.k_packed));
    for (int first = 0; first < rows.rows; first += kMostFew) {
      const int count = rows.rows - first < kMostFew ? rows.rows - first : kMostFew;
      const Sight seen = sight(rows, first, count, tile);
      if (seen == Sight::nothing) continue;
      with_count<kMostFew>(count, [&](auto of) {
        constexpr int R = decltype(of)::value;
        using Few = FewRows<Isa, kType, R>;
        weigh_few<Few>(shape, rows, first, R, tile, scratch);
        for (int i = 0; i < R; ++i)
          Softmax<Isa>::template soften<true>(shape, rows, first + i, tile, seen == Sight::some,
                                              scratch.s + i * kTileKeys, scratch.p + i * kTileKeys,
                                              scratch.correction + i);
        Few::accumulate(reinterpret_cast<const float*>(scratch.p), shape.head_dim_v, tile.v, next.k,
                        scratch.correction, rows.o + first * o_stride(shape), o_stride(shape));
      });
    }
  }

  /// scratch.s = q times keys, of some of few rows.
  template <class Few>
  static void weigh_few(const TileShape& shape, const RowTile& rows, int first, int count,
                        const KeyTile& tile, const Scratch& scratch) {
    const std::int64_t stride = q_floats(shape);
    if (rows.one_way) {
      const std::uint32_t* q = rows.q + first * stride;
      for (int i = 0; i < count; i += Isa::kRows)
        with_count<Isa::kRows>(count - i < Isa::kRows ? count - i : Isa::kRows, [&](auto of) {
          scores<decltype(of)::value>(q + i * stride, stride, scratch.k_packed,
                                      scratch.s + i * kTileKeys);
        });
      return;
    }
    for (int i = 0; i < count; ++i)
      Few::arrange(query_floats(shape, rows, first + i, scratch.few_q + i * stride),
                   shape.head_dim_qk, scratch.few_q + i * stride);
    Few::scores(scratch.few_q, stride, shape.head_dim_qk, tile.k, tile.v, scratch.s);
  }

  /// A row of q as floats: as it lies, or widened to `copy`.
  static const float* query_floats(const TileShape& shape, const RowTile& rows, int row,
                                   float* copy) {
    const std::uint32_t* q = rows.q + row * q_stride(shape);
    if constexpr (!Isa::kPairs) return reinterpret_cast<const float*>(q);
    for (std::int64_t i = 0; i < q_floats(shape); i += kLanes)
      Isa::store(copy + i, Isa::template load<Stored::bf16>(q, i, kLanes));
    return copy;
  }

  static int row_blocks(int rows, int most) { return (rows + most - 1) / most; }

  /// How often the loops over few rows call Ahead::fetch.
  static std::int64_t calls_of_few(const TileShape& shape, int rows) {
    const std::int64_t scores = kTileKeys / kLanes * rows * (q_stride(shape) / kLanes);
    const std::int64_t columns = padded(o_stride(shape), Isa::kColumns * kLanes);
    return scores + kPUnits * (columns / (Isa::kColumns * kLanes)) * row_blocks(rows, Isa::kRows);
  }

  /// Rows that are multiplied together.
  struct Block {
    int first;
    int count;
    bool masked;
    bool few;
  };

  static void fold_block(const TileShape& shape, const RowTile& rows, const KeyTile& tile,
                         const Block& block, const std::uint32_t* const* keys,
                         const std::uint32_t* const* values, Ahead& ahead, const Scratch& scratch) {
    const std::int64_t units = q_stride(shape);
    with_count<Isa::kRows>(block.count, [&](auto count) {
      constexpr int R = decltype(count)::value;
      const std::uint32_t* q = rows.q + block.first * units;
      float* o = rows.o + block.first * o_stride(shape);
      if (block.few) {
        scores_as_it_lies(q, R, units, keys, ahead, scratch.s);
        soften_block(shape, rows, tile, block, scratch);
        accumulate<R, true>(scratch.p, values, o_stride(shape), scratch.correction, ahead, o);
      } else {
        scores<R>(q, units, scratch.k_packed, scratch.s);
        soften_block(shape, rows, tile, block, scratch);
        accumulate<R, false>(scratch.p, values, o_stride(shape), scratch.correction, ahead, o);
      }
    });
  }

  /// The same with matrix tiles of 16 rows, whose sums live in memory between tiles of keys.
  static void fold_block_in_tiles(const TileShape& shape, const RowTile& rows, const KeyTile& tile,
                                  const Block& block, const std::uint32_t* values,
                                  const Scratch& scratch) {
    if constexpr (Isa::kMatrixTiles) {
      const std::int64_t units = q_stride(shape);
      const std::int64_t columns = o_stride(shape);
      Isa::multiply_tiles(rows.q + block.first * units, units, block.count, units, scratch.k_packed,
                          kTileKeys, kTileKeys, false, scratch.s, kTileKeys);
      soften_block(shape, rows, tile, block, scratch);
      float* o = rows.o + block.first * columns;
      for (int i = 0; i < block.count; ++i)
        for (std::int64_t c = 0; scratch.correction[i] != 1.0F && c < columns; c += kLanes)
          Isa::store(o + i * columns + c, Isa::mul(Isa::load_floats(o + i * columns + c),
                                                   Isa::set(scratch.correction[i])));
      Isa::multiply_tiles(scratch.p, kPUnits, block.count, kPUnits, values, columns, columns, true,
                          o, columns);
    }
  }

  static void soften_block(const TileShape& shape, const RowTile& rows, const KeyTile& tile,
                           const Block& block, const Scratch& scratch) {
    for (int i = 0; i < block.count; ++i)
      Softmax<Isa>::template soften<!Isa::kPairs>(shape, rows, block.first + i, tile, block.masked,
                                                  scratch.s + i * kTileKeys,
                                                  scratch.p + i * kPUnits, scratch.correction + i);
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
    return {.name = name,
            .q_stride = q_stride,
            .o_stride = o_stride,
            .scratch_words = scratch_words,
            .load_query = load_query,
            .fold = fold,
            .store_output = store_output,
            .powers_of_two = map<VectorMath<Isa>::power_of_two>,
            .weights = map<VectorMath<Isa>::weight>,
            .hyperbolic_tangents = map<VectorMath<Isa>::hyperbolic_tangent>};
  }
};

}  // namespace
}  // namespace headwise::tiled
