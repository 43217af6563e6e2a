#pragma once

#include <cstdint>
#include <span>

#include "ops/blocks/block_kernels.h"
#include "ops/linear.h"
#include "ops/rows.h"
#include "ops/stored_rows.h"

namespace headwise {

/// The fastest instruction set of this machine: AVX-512 with BF16, VBMI and VNNI, or AVX2; null
/// where there is neither.
const BlockIsa* block_isa();

/// y = x w^T, or y += x w^T, for few rows of x: w is read once, from the blocks as they are stored,
/// whatever the number of rows. x [m, columns], y [m, rows of w], both f32. Quantised weights meet
/// x in 16-bit fixed point (block_kernels.h), others in f32. Throws Error(invalid_input) where
/// sizes do not fit.
void block_product(const BlockIsa& isa, const Rows<const float>& x, const StoredRows& w,
                   const Rows<float>& y, Into into);

/// products[i] = row rows[i] of w times x, a single row: bit for bit what block_product() makes of
/// it. Throws Error(invalid_input) where sizes do not fit or there is no such row.
void block_product_of_rows(const BlockIsa& isa, const Rows<const float>& x, const StoredRows& w,
                           std::span<const std::int32_t> rows, std::span<float> products);

}  // namespace headwise
