#pragma once

#include <vector>

#include "headwise/backend.h"

namespace headwise {

/// The exact tiled backends, the fastest first: cpu-amx, cpu-avx512bf16, cpu-avx512, cpu-avx2,
/// cpu-portable. S never leaves the cache; the query heads of a group share each read of a KV head;
/// 8-bit and narrow KV is read as it is.
std::vector<const Backend*> tiled_backends();

/// cpu-avx512bf16 as it is on processors whose BF16 dot products are not slow; for tests.
const Backend& avx512bf16_with_dot_products();

}  // namespace headwise
