#pragma once

#include <cstdint>
#include <string>

namespace headwise::bench {

class Gpu;

/// Bytes that this process may still allocate without swapping: what the system has available, cut
/// by a cgroup's limit.
std::int64_t free_memory();
/// The same of a GPU's memory; null: of the host's.
std::int64_t free_memory(Gpu* gpu);

/// "1.5 GiB".
std::string format_bytes(double bytes);

}  // namespace headwise::bench
