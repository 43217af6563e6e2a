#pragma once

#include "headwise/backend.h"

namespace headwise::cuda {

/// The textbook's three steps on a GPU: S = Q K^T, P = softmax(S), O = P V, with S and P of a whole
/// request written to device memory and the products by cuBLASLt. Its workspace grows with
/// q_len * kv_len, until that passes a quarter of the GPU's memory: rows are then computed in
/// chunks. It exists to be compared with, and to check long contexts fast.
const Backend& cuda_standard_backend();

}  // namespace headwise::cuda
