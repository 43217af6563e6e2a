#pragma once

#include "ops/linear.h"
#include "ops/rows.h"
#include "ops/stored_rows.h"

namespace headwise {

/// Whether block_product() runs on this machine: AVX-512 with BF16, VBMI and VNNI.
bool has_block_product();

/// y = x w^T, or y += x w^T, for few rows of x: w is read once, from the blocks as they are stored,
/// whatever the number of rows. x [m, columns], y [m, rows of w], both f32. Quantised weights meet
/// x in 16-bit fixed point (block_kernels.h), others in f32. Throws Error(invalid_input) where
/// sizes do not fit.
void block_product(const Rows<const float>& x, const StoredRows& w, const Rows<float>& y,
                   Into into);

}  // namespace headwise
