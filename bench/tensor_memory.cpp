#include "bench/tensor_memory.h"

#include <cstring>

namespace headwise::bench {

TensorMemory::TensorMemory(std::int64_t bytes, Gpu* gpu) : gpu_(gpu), size_(bytes) {
  if (bytes == 0) return;
  if (gpu != nullptr) {
    device_ = gpu->allocate(bytes);
    data_ = static_cast<std::byte*>(device_.get());
  } else {
    host_ = Buffer(bytes);
    data_ = host_.data();
  }
}

void TensorMemory::set_bytes(std::byte value) {
  if (size_ == 0) return;
  if (gpu_ != nullptr) return gpu_->set_bytes(data_, value, size_);
  std::memset(data_, std::to_integer<int>(value), static_cast<std::size_t>(size_));
}

void TensorMemory::fill_random(const RandomTable& table, std::int64_t count, std::uint64_t seed) {
  if (count == 0) return;
  if (gpu_ != nullptr) return gpu_->fill_random(data_, table, count, seed);
  bench::fill_random(data_, table, 0, count, seed);
}

void TensorMemory::fill_outliers(const RandomTable& table, const OutlierRows& outliers,
                                 std::uint64_t seed) {
  if (outliers.every == 0) return;
  if (gpu_ != nullptr) return gpu_->fill_outliers(data_, table, outliers, seed);
  bench::fill_outliers(data_, table, outliers, seed);
}

std::shared_ptr<void> on_gpu(Gpu& gpu, const void* host, std::int64_t bytes) {
  if (bytes == 0) return {};
  std::shared_ptr<void> memory = gpu.allocate(bytes);
  gpu.copy_to_device(memory.get(), host, bytes);
  return memory;
}

}  // namespace headwise::bench
