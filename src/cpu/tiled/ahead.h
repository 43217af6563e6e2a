#pragma once

#include "cpu/tiled/tile.h"

namespace headwise::tiled {
namespace {

/// The tile to come, fetched a little between products: fetched at once it would stall them,
/// since a core waits for a dozen lines at a time.
struct Ahead {
  const KeyTile* tile = nullptr;  // null: none
  std::int64_t k_bytes = 0;
  std::int64_t v_bytes = 0;
  int steps = 0;  // a call
  int key = 0;
  std::int64_t at = 0;  // bytes of the key's rows

  void fetch() {
    for (int step = 0; tile != nullptr && step < steps; ++step) {
      if (at < k_bytes) __builtin_prefetch(tile->k[key] + at);
      if (at < v_bytes) __builtin_prefetch(tile->v[key] + at);
      at += 64;
      if (at < k_bytes || at < v_bytes) continue;
      at = 0;
      if (++key == kTileKeys) tile = nullptr;
    }
  }
};

/// `calls` of fetch() bring the whole tile.
inline Ahead fetch_ahead(const TileShape& shape, const KeyTile* next, std::int64_t calls) {
  const std::int64_t k_bytes = shape.head_dim_qk * stored_bytes(shape.kv_type);
  const std::int64_t v_bytes = shape.head_dim_v * stored_bytes(shape.kv_type);
  const std::int64_t lines = kTileKeys * ((k_bytes > v_bytes ? k_bytes : v_bytes) + 63) / 64;
  return {next, k_bytes, v_bytes, static_cast<int>((lines + calls - 1) / calls)};
}

}  // namespace
}  // namespace headwise::tiled
