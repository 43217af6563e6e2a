#pragma once

#include <memory>

#include "cuda/sm90/kernel_row.h"
#include "headwise/backend.h"

namespace headwise::cuda::sm90 {

/// Rows that an item should have room for.
int rows_of_items(const Problem& problem);

/// Rows that an item of a shared prefix should have room for.
inline constexpr int kPrefixRows = 128;

/// `row` can do the problem, `prefix_row` what its requests share. Schedules lie at fixed addresses
/// of the device, which update() rewrites on options.stream; one plan runs on one stream at a time.
std::unique_ptr<Plan> make_sm90_plan(std::string_view backend, const Problem& problem,
                                     const Support& support, const KernelRow& row,
                                     const KernelRow& prefix_row);

}  // namespace headwise::cuda::sm90
