#pragma once

#include "headwise/backend.h"

namespace headwise {

/// The textbook's three steps, S = Q K^T, P = softmax(S), O = P V, with S and P of a whole request
/// written to memory and the matrix products by oneDNN. Its workspace grows with q_len * kv_len: it
/// exists to be compared with, and to run everything that no faster backend can.
const Backend& standard_backend();

}  // namespace headwise
