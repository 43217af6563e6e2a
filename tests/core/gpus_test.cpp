#include "core/gpus.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "headwise/error.h"

namespace headwise {
namespace {

GpuSearch with_driver(const char* mode) {
  ::setenv("FAKE_DRIVER", mode, 1);
  return find_gpus(HEADWISE_FAKE_DRIVER);
}

TEST(Gpus, AreWhatTheDriverSays) {
  const GpuSearch found = with_driver("two");
  EXPECT_EQ(found.no_gpu, "");
  ASSERT_EQ(found.gpus.size(), 2U);
  const GpuInfo& gpu = found.gpus[0];
  EXPECT_EQ(to_string(gpu), "NVIDIA H200 (compute capability 9.0, 132 multiprocessors)");
  EXPECT_EQ(gpu.compute_capability, 90);
  EXPECT_EQ(gpu.shared_memory_per_block, 227 << 10);
  EXPECT_EQ(gpu.memory_bytes, std::int64_t{141} << 30);
  EXPECT_EQ(gpu.l2_bytes, 60 << 20);
  EXPECT_EQ(gpu.clock_mhz, 1980);
  EXPECT_NEAR(static_cast<double>(gpu.memory_bytes_per_second), 4.917e12, 1e9);
  EXPECT_EQ(found.gpus[1].compute_capability, 86);
}

TEST(Gpus, TheirAbsenceHasAReason) {
  EXPECT_EQ(with_driver("none").no_gpu,
            "NVIDIA's driver: cuInit: no CUDA-capable device is detected");
  const GpuSearch broken = with_driver("broken");
  EXPECT_TRUE(broken.gpus.empty());
  EXPECT_EQ(broken.no_gpu, "NVIDIA's driver: cuda:1: unknown error");
  EXPECT_EQ(find_gpus("libno-such-driver.so.1").no_gpu,
            "there is no NVIDIA driver (libno-such-driver.so.1)");
  EXPECT_NE(find_gpus("libm.so.6").no_gpu.find("too old"), std::string::npos);
}

TEST(Gpus, ThisMachineHasSomeOrKnowsWhyNot) {
  EXPECT_EQ(this_machine().gpus.empty(), !this_machine().no_gpu.empty());
}

TEST(Gpus, ALimitOfSharedMemoryOnlyLowers) {
  std::vector<GpuInfo> gpus = with_driver("two").gpus;
  limit_shared_memory(gpus, nullptr);
  limit_shared_memory(gpus, "");
  EXPECT_EQ(gpus[0].shared_memory_per_block, 232'448);
  limit_shared_memory(gpus, "120000");
  EXPECT_EQ(gpus[0].shared_memory_per_block, 120'000);
  EXPECT_EQ(gpus[1].shared_memory_per_block, 101'376);
  for (const char* bad : {"99k", "-1", "x", " 7"})
    EXPECT_THROW(limit_shared_memory(gpus, bad), Error) << bad;
}

}  // namespace
}  // namespace headwise
