#pragma once

#include <cstdint>

namespace headwise::conformance {

/// Whether `bytes` bytes lie within one buffer of the fake GPU.
bool is_fake_device_memory(const void* begin, std::int64_t bytes);

}  // namespace headwise::conformance
