#pragma once

#include <cstdint>
#include <string>

namespace headwise::bench {

/// Bytes that this process may still allocate without swapping: what the system has available, cut
/// by a cgroup's limit.
std::int64_t free_memory();

/// "1.5 GiB".
std::string format_bytes(double bytes);

}  // namespace headwise::bench
