#pragma once

#include "headwise/append_kv.h"

namespace headwise {

/// Backend::append of every backend for the CPU. The arguments are valid; tokens are spread over
/// OpenMP's threads.
void append_on_cpu(const AttentionShape& shape, const StepBatch& step, const AppendArgs& args);

}  // namespace headwise
