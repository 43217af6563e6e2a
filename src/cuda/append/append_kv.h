#pragma once

#include "headwise/append_kv.h"

namespace headwise::cuda {

/// Backend::append of every backend for GPUs. The arguments are valid. Launches on args.stream
/// alone. Throws Error(not_possible) where CUDA refuses.
void append_on_gpu(const AttentionShape& shape, const StepBatch& step, const AppendArgs& args);

}  // namespace headwise::cuda
