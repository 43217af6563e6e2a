#pragma once

// What the portable driver and the kernels of one instruction set hand each other. Plain data and
// nothing inline: an inline function compiled here with AVX-512 could be the copy that the linker
// keeps for all.

#include <cstddef>
#include <cstdint>

namespace headwise::tiled {

/// Keys a tile. Tiles begin at multiples of this among a request's slots.
inline constexpr int kTileKeys = 64;

/// Stored types, as headwise::DType numbers them.
enum class Stored : std::uint8_t { f32, f16, bf16, f8e4m3, i8 };

namespace {  // a copy in every file that uses it

constexpr std::int64_t stored_bytes(Stored type) {
  if (type == Stored::f32) return 4;
  return type == Stored::f16 || type == Stored::bf16 ? 2 : 1;
}

}  // namespace

/// A position that no row sees, since keys stand at 0 and up: of columns without a visible key.
inline constexpr std::int32_t kNowhere = -1;

/// Up to 64 consecutive slots of one KV head. Columns that no row of the work sees, page tails
/// included, point at a row of zeros and stand nowhere.
struct KeyTile {
  const std::byte* k[kTileKeys];     ///< each head_dim_qk stored numbers
  const std::byte* v[kTileKeys];     ///< each head_dim_v stored numbers
  std::int32_t position[kTileKeys];  ///< kNowhere: dead
  float k_scale[kTileKeys];          ///< i8 only
  float v_scale[kTileKeys];          ///< i8 only
  std::int32_t first_position;       ///< least of the live columns
  std::int32_t last_position;        ///< greatest of the live columns
  int columns;                       ///< 0: none live
  bool all_live;                     ///< every one of the 64
};

/// How rows and keys are multiplied, the same for every tile of a layer.
struct TileShape {
  int head_dim_qk;
  int head_dim_v;
  Stored q_type;
  Stored kv_type;
  float scale_log2;  ///< from product to logit in base 2, positive; without the cap
  float softcap;     ///< 0: none; then scale_log2 holds for the capped logit
  float cap_scale;   ///< from product to logit / softcap
};

/// The query rows of one work item: tokens one after another, each with the heads of one group.
/// `units` are 32-bit words of products' operands: one f32, or a pair of bf16.
struct RowTile {
  int rows;
  bool
      one_way;  ///< multiply few rows as many are, so that a row's bits do not depend on the others
  const std::int32_t* first_seen;  ///< [rows] first position that the row sees, 0 or more
  const std::int32_t* last_seen;   ///< [rows] last position that it sees
  std::uint32_t* q;                ///< [rows, q_stride] units, zeros behind head_dim_qk
  float* o;                        ///< [rows, o_stride] sum of weights times values
  float* top;                      ///< [rows] largest logit so far, base 2; -inf: none
  float* total;                    ///< [rows] sum of weights relative to 2^top
  std::uint32_t* scratch;          ///< scratch_words() words, 64-byte aligned
};

/// The functions of one instruction set and one type of products. All strides follow from
/// TileShape.
struct TileKernels {
  const char* name;
  std::int64_t (*q_stride)(const TileShape&);       ///< units a row of q
  std::int64_t (*o_stride)(const TileShape&);       ///< floats a row of o
  std::int64_t (*scratch_words)(const TileShape&);  ///< 32-bit words of RowTile::scratch

  /// Copies one row of stored numbers to RowTile::q, times the sign of the logits' scale: -1, 0
  /// or 1.
  void (*load_query)(const TileShape&, const void* from, int sign, std::uint32_t* to);
  /// Folds one tile of keys into every row; `next` (or null) is fetched meanwhile.
  void (*fold)(const TileShape&, const RowTile&, const KeyTile&, const KeyTile* next);
  /// Writes o[row] * factor as f32, f16 or bf16.
  void (*store_output)(const TileShape&, const float* o, float factor, Stored type, void* to);

  // What soften is made of, for tests: count is a multiple of 16.
  void (*powers_of_two)(const float* x, float* y, std::int64_t count);  ///< within 2 ulp
  void (*weights)(const float* x, float* y,
                  std::int64_t count);  ///< the same; of pairs, within 1e-4
  void (*hyperbolic_tangents)(const float* x, float* y, std::int64_t count);
};

}  // namespace headwise::tiled
