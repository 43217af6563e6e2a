#include "cpu/tiled/isa_avx512.h"
#include "cpu/tiled/kernels.h"
#include "cpu/tiled/tile_kernel.h"

namespace headwise::tiled {

const TileKernels kAvx512F32 = Kernel<Avx512>::kernels("avx512 f32");

}  // namespace headwise::tiled
