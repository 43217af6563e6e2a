#include "cuda/runtime/memory.h"

#include "core/check.h"
#include "cuda/runtime/check.h"

namespace headwise::cuda {

DeviceBuffer::DeviceBuffer(int device, std::int64_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  check_call(cudaSetDevice(device), concat("cuda:", device));
  void* memory = nullptr;
  check_call(cudaMalloc(&memory, static_cast<std::size_t>(bytes)),
             concat("allocating ", bytes, " bytes on cuda:", device));
  data_.reset(memory);
}

void DeviceBuffer::Free::operator()(void* memory) const { cudaFree(memory); }

PinnedBuffer::PinnedBuffer(std::int64_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  void* memory = nullptr;
  check_call(cudaMallocHost(&memory, static_cast<std::size_t>(bytes)),
             concat("allocating ", bytes, " bytes of page-locked memory"));
  data_.reset(memory);
}

void PinnedBuffer::Free::operator()(void* memory) const { cudaFreeHost(memory); }

void copy_to_device(void* to, const void* from, std::int64_t bytes) {
  check_call(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice),
             "copying to the device");
  // From pageable memory the call above returns while the last bytes are on their way.
  check_call(cudaStreamSynchronize(nullptr), "copying to the device");
}

void copy_to_host(void* to, const void* from, std::int64_t bytes) {
  check_call(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost),
             "copying from the device");
}

void fill(void* to, std::byte value, std::int64_t bytes) {
  check_call(cudaMemset(to, std::to_integer<int>(value), static_cast<std::size_t>(bytes)),
             "filling memory of the device");
  check_call(cudaStreamSynchronize(nullptr), "filling memory of the device");
}

void synchronize(int device) {
  check_call(cudaSetDevice(device), concat("cuda:", device));
  check_call(cudaDeviceSynchronize(), concat("cuda:", device));
}

std::int64_t free_bytes(int device) {
  check_call(cudaSetDevice(device), concat("cuda:", device));
  std::size_t free = 0;
  std::size_t total = 0;
  check_call(cudaMemGetInfo(&free, &total), concat("cuda:", device));
  return static_cast<std::int64_t>(free);
}

}  // namespace headwise::cuda
