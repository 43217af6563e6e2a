#include "cuda/problem_checks.h"

#include <gtest/gtest.h>

namespace headwise::cuda {
namespace {

TEST(ProblemChecks, SayWhyNoGpuCan) {
  Machine machine;
  machine.no_gpu = "there is no NVIDIA driver";
  Problem problem;
  EXPECT_EQ(why_no_gpu(problem, machine), "tensors are on cpu");
  problem.device = {DeviceType::cuda, 1};
  EXPECT_EQ(why_no_gpu(problem, machine), "there is no GPU cuda:1 (there is no NVIDIA driver)");
  machine = {};
  machine.gpus = {{.name = "new", .compute_capability = 90}};
  EXPECT_EQ(why_no_gpu(problem, machine), "there is no GPU cuda:1 (1 here)");
  machine.gpus.push_back({.name = "old", .compute_capability = 75});
  EXPECT_EQ(why_no_gpu(problem, machine), "compute capability 7.5 is older than 8.0");
  problem.device.index = 0;
  EXPECT_EQ(why_no_gpu(problem, machine), "");
  EXPECT_EQ(why_no_gpu(problem, machine, 100), "compute capability 9.0 is older than 10.0");
}

}  // namespace
}  // namespace headwise::cuda
