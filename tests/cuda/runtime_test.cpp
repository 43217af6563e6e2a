#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

#include "cuda/runtime/check.h"
#include "cuda/runtime/memory.h"
#include "headwise/error.h"
#include "headwise/machine.h"

namespace headwise::cuda {
namespace {

class Runtime : public testing::Test {
 protected:
  void SetUp() override {
    if (this_machine().gpus.empty()) GTEST_SKIP() << this_machine().no_gpu;
  }
};

TEST_F(Runtime, TheDriverDescribesTheGpuAsTheRuntimeDoes) {
  int count = 0;
  check_call(cudaGetDeviceCount(&count), "counting");
  ASSERT_EQ(static_cast<std::size_t>(count), this_machine().gpus.size());
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    check_call(cudaGetDeviceProperties(&properties, device), "properties");
    const GpuInfo& gpu = this_machine().gpus[static_cast<std::size_t>(device)];
    EXPECT_EQ(gpu.name, properties.name);
    EXPECT_EQ(gpu.compute_capability, properties.major * 10 + properties.minor);
    EXPECT_EQ(gpu.multiprocessors, properties.multiProcessorCount);
    EXPECT_EQ(gpu.memory_bytes, static_cast<std::int64_t>(properties.totalGlobalMem));
    EXPECT_EQ(gpu.l2_bytes, properties.l2CacheSize);
    EXPECT_LE(gpu.shared_memory_per_block,
              static_cast<std::int64_t>(properties.sharedMemPerBlockOptin));
  }
}

TEST_F(Runtime, WhatIsCopiedInComesBack) {
  std::vector<int> numbers(100'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i * 7);
  const auto bytes = static_cast<std::int64_t>(numbers.size() * sizeof(int));
  const DeviceBuffer buffer(0, bytes);
  EXPECT_EQ(buffer.size(), bytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256, 0U);
  copy_to_device(buffer.data(), numbers.data(), bytes);
  std::vector<int> back(numbers.size());
  copy_to_host(back.data(), buffer.data(), bytes);
  EXPECT_EQ(back, numbers);
  fill(buffer.as<std::byte>() + 4, std::byte{0xff}, 8);
  copy_to_host(back.data(), buffer.data(), bytes);
  EXPECT_EQ((std::vector<int>{back[0], back[1], back[2], back[3]}),
            (std::vector<int>{0, -1, -1, 21}));
}

TEST_F(Runtime, PageLockedMemoryIsTheHosts) {
  const PinnedBuffer buffer(4096);
  static_cast<int*>(buffer.data())[1023] = 5;
  const DeviceBuffer device(0, 4096);
  copy_to_device(device.data(), buffer.data(), 4096);
  int back = 0;
  copy_to_host(&back, device.as<int>() + 1023, 4);
  EXPECT_EQ(back, 5);
}

TEST_F(Runtime, EmptyBuffersAreNull) {
  EXPECT_EQ(DeviceBuffer(0, 0).data(), nullptr);
  EXPECT_EQ(PinnedBuffer(0).data(), nullptr);
}

TEST_F(Runtime, BuffersGiveTheirMemoryBack) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 28;
  const std::int64_t before = free_bytes(0);
  { const DeviceBuffer buffer(0, kBytes); }
  EXPECT_GE(free_bytes(0), before - kBytes / 2);
}

TEST_F(Runtime, TooMuchMemoryIsAnErrorThatSaysHowMuch) {
  const std::int64_t bytes = std::int64_t{1} << 50;
  try {
    const DeviceBuffer buffer(0, bytes);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
    EXPECT_NE(std::string(error.what()).find(std::to_string(bytes)), std::string::npos)
        << error.what();
  }
  cudaGetLastError();
  EXPECT_NO_THROW(check_launch("nothing"));  // the error was no sticky one
}

TEST_F(Runtime, AnUnknownDeviceIsAnError) {
  EXPECT_THROW(DeviceBuffer(99, 16), Error);
  cudaGetLastError();
}

}  // namespace
}  // namespace headwise::cuda
