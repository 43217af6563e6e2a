#pragma once

#include "cpu/tiled/tile.h"

namespace headwise::tiled {

extern const TileKernels kPortableF32;
extern const TileKernels kAvx2F32;
extern const TileKernels kAvx512F32;
extern const TileKernels kAvx512VbmiF32;
extern const TileKernels kAvx512Bf16;
extern const TileKernels kAmxBf16;

}  // namespace headwise::tiled
