// A GPU's memory in the host's, linked instead of src/cuda/runtime/memory.cpp: what tests do with
// device memory can be tried out where there is no GPU.

#include "tests/cuda/fake_memory.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>

#include "cuda/runtime/memory.h"

namespace headwise {
namespace {

/// Begin and size of all buffers. Never destroyed: buffers may go after it would.
std::map<const std::byte*, std::int64_t>& buffers() {
  static auto* all = new std::map<const std::byte*, std::int64_t>;
  return *all;
}

void expect_device(const void* begin, std::int64_t bytes) {
  if (!conformance::is_fake_device_memory(begin, bytes))
    throw std::runtime_error("not memory of the device");
}

}  // namespace

bool conformance::is_fake_device_memory(const void* begin, std::int64_t bytes) {
  const auto* first = static_cast<const std::byte*>(begin);
  auto next = buffers().upper_bound(first);
  if (next == buffers().begin()) return false;
  const auto& [buffer, size] = *--next;
  return first + bytes <= buffer + size;
}

namespace cuda {

DeviceBuffer::DeviceBuffer(int, std::int64_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  data_.reset(std::aligned_alloc(256, static_cast<std::size_t>((bytes + 255) / 256 * 256)));
  buffers()[as<std::byte>()] = bytes;
}

void DeviceBuffer::Free::operator()(void* memory) const {
  buffers().erase(static_cast<const std::byte*>(memory));
  std::free(memory);
}

PinnedBuffer::PinnedBuffer(std::int64_t bytes) : size_(bytes) {
  if (bytes > 0) data_.reset(std::malloc(static_cast<std::size_t>(bytes)));
}

void PinnedBuffer::Free::operator()(void* memory) const { std::free(memory); }

void copy_to_device(void* to, const void* from, std::int64_t bytes) {
  expect_device(to, bytes);
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void copy_to_host(void* to, const void* from, std::int64_t bytes) {
  expect_device(from, bytes);
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void fill(void* to, std::byte value, std::int64_t bytes) {
  expect_device(to, bytes);
  std::memset(to, std::to_integer<int>(value), static_cast<std::size_t>(bytes));
}

void synchronize(int) {}
std::int64_t free_bytes(int) { return std::int64_t{4} << 30; }

}  // namespace cuda
}  // namespace headwise
