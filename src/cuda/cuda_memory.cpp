#include "cuda/cuda_memory.h"

#include <cuda_runtime_api.h>

#include <limits>
#include <map>
#include <mutex>

#include "core/check.h"
#include "cuda/runtime/check.h"
#include "cuda/runtime/memory.h"

namespace headwise {
namespace {

constexpr std::int64_t kMostPitch = std::numeric_limits<std::int32_t>::max();  // CUDA's own limit

class CudaMemory final : public DeviceMemory {
 public:
  explicit CudaMemory(int index) : index_(index) {}

  Device device() const override { return {DeviceType::cuda, index_}; }

  std::shared_ptr<std::byte> allocate(std::int64_t bytes) const override {
    const auto buffer = std::make_shared<cuda::DeviceBuffer>(index_, bytes);
    return {buffer, buffer->as<std::byte>()};
  }

  void copy_rows(std::byte* to, const std::byte* from, std::int64_t width, std::int64_t pitch,
                 std::int64_t rows, void* stream) const override {
    if (pitch <= kMostPitch) {
      set_device();
      cuda::check_call(cudaMemcpy2DAsync(to, bytes(pitch), from, bytes(pitch), bytes(width),
                                         bytes(rows), cudaMemcpyDeviceToDevice, of(stream)),
                       "copying within the device");
      return;
    }
    for (std::int64_t row = 0; row < rows; ++row)
      copy(to + row * pitch, from + row * pitch, width, cudaMemcpyDeviceToDevice, stream);
  }

  // CUDA has taken pageable memory of the host when the call returns.
  void upload(std::byte* to, const void* from, std::int64_t size, void* stream) const override {
    copy(to, from, size, cudaMemcpyHostToDevice, stream);
  }

  void download(void* to, const std::byte* from, std::int64_t size, void* stream) const override {
    copy(to, from, size, cudaMemcpyDeviceToHost, stream);
    cuda::check_call(cudaStreamSynchronize(of(stream)), "copying from the device");
  }

 private:
  static std::size_t bytes(std::int64_t count) { return static_cast<std::size_t>(count); }
  static cudaStream_t of(void* stream) { return static_cast<cudaStream_t>(stream); }
  void set_device() const { cuda::check_call(cudaSetDevice(index_), concat("cuda:", index_)); }
  void copy(void* to, const void* from, std::int64_t size, cudaMemcpyKind kind,
            void* stream) const {
    set_device();
    cuda::check_call(cudaMemcpyAsync(to, from, bytes(size), kind, of(stream)),
                     "copying to, from or within the device");
  }

  int index_;
};

}  // namespace

const DeviceMemory& cuda_memory(int index) {
  static std::mutex mutex;
  static std::map<int, CudaMemory> memories;
  const std::lock_guard lock(mutex);
  return memories.try_emplace(index, index).first->second;
}

}  // namespace headwise
