#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headwise {

/// Has the kernel back memory with pages now, in all threads, rather than when somebody waits: a
/// huge page takes 0.3 ms the first time, in a virtual machine whose host has to find it 2 ms. What
/// the bytes hold is lost; they may be none.
void touch_for_writing(const std::vector<std::span<std::byte>>& areas);

/// The same for mapped files, which are read where they are not in memory yet.
void touch_for_reading(std::span<const std::byte> area);

}  // namespace headwise
