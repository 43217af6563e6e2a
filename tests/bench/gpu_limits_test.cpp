#include "bench/gpu_limits.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/row.h"
#include "bench/table.h"
#include "headwise/error.h"
#include "tests/bench/fake_gpu.h"

namespace headwise::bench {
namespace {

constexpr auto kQuiet = [](std::string_view) {};

GpuInfo h200() {
  return {.name = "NVIDIA H200",
          .compute_capability = 90,
          .shared_memory_per_block = 232448,
          .multiprocessors = 132,
          .memory_bytes = 150'000'000'000,
          .l2_bytes = 50 << 20,
          .memory_bytes_per_second = 4'800'000'000'000,
          .clock_mhz = 1980};
}

TEST(GpuLimits, PeaksFollowTheClock) {
  const GpuLimits limits{
      .read_bytes_per_s = 4.5e12, .bf16_product = 7e14, .f16_product = 6.5e14, .f32_product = 5e13};
  const HardwareLimits at = hardware_limits(h200(), limits, 1500.0);
  EXPECT_DOUBLE_EQ(*at.bf16.peak, 4096.0 * 132 * 1500e6);
  EXPECT_DOUBLE_EQ(*at.f16.peak, *at.bf16.peak);
  EXPECT_DOUBLE_EQ(*at.f8e4m3.peak, 2.0 * *at.bf16.peak);
  EXPECT_DOUBLE_EQ(*at.f32.peak, 256.0 * 132 * 1500e6);
  EXPECT_DOUBLE_EQ(*at.peak_read_bytes_per_s, 4.8e12);
  EXPECT_EQ(at.bf16.measured, 7e14);
  EXPECT_EQ(at.f16.measured, 6.5e14);
  EXPECT_EQ(at.f8e4m3.measured, 7e14);
  // Without a clock, the highest.
  EXPECT_DOUBLE_EQ(*hardware_limits(h200(), limits, 0.0).bf16.peak, 4096.0 * 132 * 1980e6);
}

TEST(GpuLimits, UnitsAreThoseOfTheGeneration) {
  EXPECT_EQ(product_units(80)->half, 2048.0);
  EXPECT_EQ(product_units(86)->half, 1024.0);
  EXPECT_EQ(product_units(89)->half, 1024.0);
  EXPECT_EQ(product_units(90)->half, 4096.0);
  EXPECT_EQ(product_units(80)->f8, 2048.0);
  EXPECT_FALSE(product_units(75));
  GpuInfo unknown = h200();
  unknown.compute_capability = 130;
  const HardwareLimits limits = hardware_limits(unknown, {.bf16_product = 1e15}, 1500.0);
  EXPECT_FALSE(limits.bf16.peak);
  EXPECT_EQ(limits.bf16.measured, 1e15);
}

TEST(GpuLimits, TheBestOfEachProbe) {
  FakeGpu gpu;
  const GpuProbeOptions options{.read_bytes = 1 << 22, .products = {512, 1024}};
  const GpuInfo info = machine_with_fake_gpu().gpus[0];
  const GpuLimits limits = measure_gpu_limits(gpu, info, options, kQuiet);
  EXPECT_NEAR(limits.read_bytes_per_s, FakeGpu::kRead, 1.0);
  EXPECT_NEAR(limits.copy_bytes_per_s, FakeGpu::kCopy, 1.0);
  EXPECT_NEAR(*limits.bf16_product, FakeGpu::kProduct, 1e3);
  EXPECT_NEAR(*limits.f32_product, FakeGpu::kProduct / 8.0, 1e3);
  EXPECT_EQ(limits.mhz, 1000.0);
  EXPECT_EQ(gpu.free_bytes(), 1 << 30);  // all given back
}

TEST(GpuLimits, WithoutCuBlasLtTheUnitsStandIn) {
  FakeGpu gpu;
  gpu.has_products = false;
  const GpuProbeOptions options{.read_bytes = 1 << 22, .products = {512}};
  GpuInfo info = machine_with_fake_gpu().gpus[0];
  const GpuLimits limits = measure_gpu_limits(gpu, info, options, kQuiet);
  EXPECT_FALSE(limits.bf16_product);
  EXPECT_DOUBLE_EQ(hardware_limits(info, limits, 1000.0).bf16.measured, 2048e9);
  info.compute_capability = 130;
  try {
    measure_gpu_limits(gpu, info, options, kQuiet);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
  }
}

BenchReport report() {
  BenchReport report;
  report.device = {.name = "A processor",
                   .instruction_sets = "AVX2",
                   .threads = 16,
                   .memory_bytes = 1 << 30,
                   .gpu = h200(),
                   .ordinal = 1,
                   .driver = "580.1, CUDA 13.0, runtime 13.0"};
  report.gpu_limits = {
      .read_bytes_per_s = 4.5e12, .copy_bytes_per_s = 4.2e12, .bf16_product = 7e14, .mhz = 1500.0};
  Row row;
  row.suite = "decode";
  row.protocol = "graph";
  row.sm_mhz = 1765.4;
  row.ms = 0.0123;
  report.rows = {row};
  return report;
}

TEST(GpuReport, JsonHasTheGpuAndItsLimits) {
  const auto json = to_json(report());
  EXPECT_EQ(json["device"]["name"], "NVIDIA H200");
  EXPECT_EQ(json["device"]["device"], "cuda:1");
  EXPECT_EQ(json["device"]["driver"], "580.1, CUDA 13.0, runtime 13.0");
  EXPECT_EQ(json["device"]["host"]["threads"], 16);
  EXPECT_EQ(json["limits"]["read_gbps"], 4500.0);
  EXPECT_EQ(json["limits"]["copy_gbps"], 4200.0);
  EXPECT_EQ(json["limits"]["read_peak_gbps"], 4800.0);
  EXPECT_EQ(json["limits"]["bf16_product_tflops"], 700.0);
  EXPECT_TRUE(json["limits"]["f16_product_tflops"].is_null());
  EXPECT_EQ(json["limits"]["sm_mhz"], 1500.0);
  EXPECT_EQ(json["rows"][0]["sm_mhz"], 1765.4);
}

TEST(GpuReport, TheTableHasThemToo) {
  BenchReport some = report();
  const std::string text = format_table(some);
  for (const char* part : {"cuda:1", "NVIDIA H200", "driver 580.1", "A processor", "4500", "4800",
                           "700.0", "1500 MHz", "SM MHz", "1765", "protocol: graph"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  some.rows.push_back(some.rows[0]);
  some.rows[1].protocol = "sustained";
  EXPECT_NE(format_table(some).find("protocol: that of each row"), std::string::npos);
}

}  // namespace
}  // namespace headwise::bench
