#pragma once

#include <memory>
#include <string_view>

#include "cpu/tiled/tile.h"
#include "headwise/backend.h"

namespace headwise::tiled {

/// A plan that folds tiles of keys into tiles of rows with `kernels`, whose instructions the
/// processor has.
std::unique_ptr<Plan> make_tiled_plan(std::string_view backend, const Problem& problem,
                                      const Support& support, const TileKernels& kernels);

}  // namespace headwise::tiled
