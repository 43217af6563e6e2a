#pragma once

#include <cuda.h>

#include <cstdint>

namespace headwise::cuda::sm90 {

/// A layer's K and V and a step's q as tensor copies take them: of K and V [page, KV head, token,
/// dim], packed as one page; of q [1, token, head, dim].
struct TensorMaps {
  CUtensorMap k;
  CUtensorMap v;
  CUtensorMap q;
  std::int32_t box_tokens = 0;    ///< of a copy of K or V; divides pages and tiles; 0: no maps
  std::int32_t query_tokens = 0;  ///< of a copy of q: an item's rows; 0: there is no map
};

}  // namespace headwise::cuda::sm90
