#pragma once

#include <string_view>

#include "headwise/plan.h"
#include "headwise/step_batch.h"
#include "headwise/tensor_view.h"

namespace headwise {

/// What a view of one field must be; throws Error(invalid_input) that begins with the field's name.
struct ViewRule {
  std::string_view field;
  int rank = 0;
  bool unit_last_stride = true;
  bool written = false;  ///< elements must not overlap
};

/// Rank, strides, alignment and 64-bit extent of `view`. Strides of dimensions of length 1 are
/// ignored.
void check_view(const TensorView& view, const ViewRule& rule);

/// Throws unless sizes[dimension] is `expected`, which `meaning` names.
void check_size(const TensorView& view, std::string_view field, int dimension,
                std::int64_t expected, std::string_view meaning);

void check_dtype(const TensorView& view, std::string_view field, DType expected);

// Parts of validate(shape, step), for what takes a step without its q; they throw as it does.

/// q_lens, kv_lens and q_start; returns the number of new tokens.
std::int64_t check_lengths(const StepBatch& step);

/// Where the keys of a paged or packed step lie, and that the tables and the lengths that kernels
/// read are on `device` or given for it; the tables' entries are not looked at.
void check_key_places(const AttentionShape& shape, const StepBatch& step, const Device& device);

/// prefix_group and prefix_tokens of a step whose other fields are valid; where its tables lie on
/// the CPU, also that entries which requests of a group read are the same ones.
void check_prefixes(const AttentionShape& shape, const StepBatch& step);

/// Throws Error(invalid_input) that names the first field of `capacity` that is less than
/// `extent`'s.
void check_within(const Capacity& capacity, const Capacity& extent);

}  // namespace headwise
