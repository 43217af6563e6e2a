#pragma once

#include "tests/conformance/recipe.h"

namespace headwise::conformance {

/// Fills q_lens and kv_lens as the spec says, cut until the case is cheap enough to run tens of
/// thousands of them. The recipe's shape and pages are set.
void draw_lengths(Recipe& recipe, const Spec& spec, Rng& rng);

/// Fills page_pos and q_start. The lengths are set.
void draw_positions(Recipe& recipe, const Spec& spec, Rng& rng);

}  // namespace headwise::conformance
