#pragma once

#include <cstdint>

namespace headwise {

/// The most memory that this process has held so far, in bytes; 0 where the system does not say.
std::int64_t peak_memory_bytes();

}  // namespace headwise
