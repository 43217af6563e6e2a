#include "cpu/tiled/isa_avx512bf16.h"
#include "cpu/tiled/kernels.h"
#include "cpu/tiled/tile_kernel.h"

namespace headwise::tiled {

const TileKernels kAvx512VbmiF32 = Kernel<Avx512Vbmi>::kernels("avx512 vbmi f32");
const TileKernels kAvx512Bf16 = Kernel<Avx512Bf16>::kernels("avx512 bf16");

}  // namespace headwise::tiled
