#include "advisor/engine_log/gpu_generation.h"

#include <gtest/gtest.h>

namespace headwise {
namespace {

// Compute capabilities as NVIDIA's list of GPUs has them.
TEST(GpuGeneration, NamesAreKnownHoweverTheyAreSpelt) {
  EXPECT_EQ(compute_capability_of("NVIDIA H100 80GB HBM3"), 90);
  EXPECT_EQ(compute_capability_of("NVIDIA_H100_80GB_HBM3"), 90);
  EXPECT_EQ(compute_capability_of("h200"), 90);
  EXPECT_EQ(compute_capability_of("H20"), 90);
  EXPECT_EQ(compute_capability_of("NVIDIA A100-SXM4-80GB"), 80);
  EXPECT_EQ(compute_capability_of("NVIDIA A10G"), 86);
  EXPECT_EQ(compute_capability_of("NVIDIA L40S"), 89);
  EXPECT_EQ(compute_capability_of("NVIDIA GeForce RTX 4090"), 89);
  EXPECT_EQ(compute_capability_of("Tesla T4"), 75);
  EXPECT_EQ(compute_capability_of("NVIDIA B200"), 100);
  EXPECT_EQ(compute_capability_of("NVIDIA GB300"), 103);
  EXPECT_EQ(compute_capability_of("NVIDIA RTX PRO 6000 Blackwell Server Edition"), 120);
  EXPECT_EQ(compute_capability_of("rtx_5090"), 120);
  EXPECT_EQ(compute_capability_of("NVIDIA GB10"), 121);
}

TEST(GpuGeneration, OthersAreNot) {
  for (const char* name : {"", "AMD Instinct MI300X", "H1000", "XH100", "RTX", "100"})
    EXPECT_EQ(compute_capability_of(name), std::nullopt) << name;
}

TEST(GpuGeneration, HasANameOfItsOwn) {
  EXPECT_EQ(name_of_generation(90), "Hopper (SM 9.0)");
  EXPECT_EQ(name_of_generation(89), "Ada (SM 8.9)");
  EXPECT_EQ(name_of_generation(103), "Blackwell (SM 10.3)");
}

}  // namespace
}  // namespace headwise
