#include "cpu/tiled/isa_avx2.h"
#include "cpu/tiled/kernels.h"
#include "cpu/tiled/tile_kernel.h"

namespace headwise::tiled {

const TileKernels kAvx2F32 = Kernel<Avx2>::kernels("avx2 f32");

}  // namespace headwise::tiled
