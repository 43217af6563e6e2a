#pragma once

#include <cuda.h>

#include <cstdint>

namespace headwise::cuda::sm90 {

/// A layer's K and V as tensor copies take them: [page, KV head, token, dim], packed as one page.
struct KeyMaps {
  CUtensorMap k;
  CUtensorMap v;
  std::int32_t box_tokens = 0;  ///< of a copy; divides pages and tiles; 0: there are no maps
};

}  // namespace headwise::cuda::sm90
