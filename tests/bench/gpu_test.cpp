// What only a GPU can show: kernels, events, graphs, and a whole run.

#include "bench/gpu.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "bench/gpu_limits.h"
#include "bench/gpu_timing.h"
#include "headwise/error.h"
#include "headwise/version.h"
#include "tests/bench/bench_options.h"

namespace headwise::bench {
namespace {

class SkipWithoutGpu : public testing::Environment {
 public:
  void SetUp() override {
    std::string why;
    if (cuda_architectures() == "none") why = "this build has no CUDA";
    if (this_machine().gpus.empty()) why = this_machine().no_gpu;
    if (why.empty()) return;
    std::printf("skipped: %s\n", why.c_str());
    GTEST_SKIP() << why;
  }
};

const testing::Environment* const kEnvironment =
    testing::AddGlobalTestEnvironment(new SkipWithoutGpu);

std::vector<std::byte> fetch(Gpu& gpu, const void* from, std::int64_t bytes) {
  std::vector<std::byte> here(static_cast<std::size_t>(bytes));
  gpu.copy_to_host(here.data(), from, bytes);
  return here;
}

TEST(GpuTest, FillsWithTheHostsNumbersAndNoFurther) {
  const auto gpu = open_gpu(0);
  for (const RandomTable& table :
       {normal_table(DType::i8), normal_table(DType::bf16), int8_scale_table()})
    for (const std::int64_t count : {1, 2, 3, 4, 5, 1023, 4'000'001}) {
      const std::int64_t bytes = count * table.element;
      const auto memory = gpu->allocate(bytes + 16);
      gpu->set_bytes(memory.get(), std::byte{0xff}, bytes + 16);
      gpu->fill_random(memory.get(), table, count, 42);
      const std::vector<std::byte> there = fetch(*gpu, memory.get(), bytes + 16);
      std::vector<std::byte> here(there.size(), std::byte{0xff});
      fill_random(here.data(), table, 0, count, 42);
      EXPECT_TRUE(there == here) << count << " elements of " << table.element << " bytes";
    }
}

TEST(GpuTest, PicksTheHostsOutliers) {
  const auto gpu = open_gpu(0);
  for (const DType type : {DType::f8e4m3, DType::bf16, DType::f32})
    for (const std::int64_t every : {1, 7, 1000}) {
      const OutlierRows outliers{.every = every, .rows = 40'001, .width = 45};
      const RandomTable table = normal_table(type);
      const std::int64_t count = outliers.rows * outliers.width;
      const std::int64_t bytes = count * table.element;
      const auto memory = gpu->allocate(bytes + 16);
      gpu->set_bytes(memory.get(), std::byte{0xff}, bytes + 16);
      gpu->fill_random(memory.get(), table, count, 42);
      gpu->fill_outliers(memory.get(), outlier_table(type), outliers, 42);
      const std::vector<std::byte> there = fetch(*gpu, memory.get(), bytes + 16);
      std::vector<std::byte> here(there.size(), std::byte{0xff});
      fill_random(here.data(), table, 0, count, 42);
      fill_outliers(here.data(), outlier_table(type), outliers, 42);
      EXPECT_TRUE(there == here) << name_of(type) << " one in " << every;
    }
}

TEST(GpuTest, TheClockIsOneOfTheGpus) {
  const auto gpu = open_gpu(0);
  const double mhz = gpu->clock_mhz();
  EXPECT_GT(mhz, 100.0);
  EXPECT_LT(mhz, 1.05 * this_machine().gpus[0].clock_mhz);
}

TEST(GpuTest, ProbesStayBelowThePeaks) {
  const auto gpu = open_gpu(0);
  const GpuInfo& info = this_machine().gpus[0];
  const GpuProbeOptions options{
      .warm_up_s = 0.01, .seconds = 0.02, .read_bytes = 1 << 30, .products = {2048}};
  const GpuLimits limits = measure_gpu_limits(*gpu, info, options, [](std::string_view) {});
  const HardwareLimits peaks = hardware_limits(info, limits, 0.0);
  EXPECT_GT(limits.read_bytes_per_s, 0.5 * *peaks.peak_read_bytes_per_s);
  EXPECT_LT(limits.read_bytes_per_s, 1.02 * *peaks.peak_read_bytes_per_s);
  EXPECT_GT(limits.copy_bytes_per_s, 0.4 * *peaks.peak_read_bytes_per_s);
  if (!limits.bf16_product || !peaks.bf16.peak) return;
  EXPECT_GT(*limits.bf16_product, 0.2 * *peaks.bf16.peak);
  EXPECT_LT(*limits.bf16_product, *peaks.bf16.peak);
  EXPECT_LT(*limits.f32_product, 1.02 * *peaks.f32.peak);
}

TEST(GpuTest, GraphsReplayTheLaunches) {
  const auto gpu = open_gpu(0);
  const RandomTable table = normal_table(DType::bf16);
  constexpr std::int64_t kCount = 1 << 20;
  const auto memory = gpu->allocate(kCount * table.element);
  const auto launch = [&] { gpu->fill_random(memory.get(), table, kCount, 7); };
  launch();
  const std::vector<std::byte> expected = fetch(*gpu, memory.get(), kCount * table.element);
  const auto graph = gpu->capture(launch);
  gpu->set_bytes(memory.get(), std::byte{0}, kCount * table.element);
  EXPECT_FALSE(fetch(*gpu, memory.get(), kCount * table.element) == expected);
  graph->launch();
  EXPECT_TRUE(fetch(*gpu, memory.get(), kCount * table.element) == expected);
}

TEST(GpuTest, ReplaysTakeAsLongAsLaunches) {
  const auto gpu = open_gpu(0);
  const RandomTable table = normal_table(DType::bf16);
  constexpr std::int64_t kCount = 64 << 20;
  const auto memory = gpu->allocate(kCount * table.element);
  const auto seconds = [&](Protocol protocol) {
    GpuTurns turns(*gpu, protocol, 1, [&] { gpu->fill_random(memory.get(), table, kCount, 7); });
    return median(turns.take({.seconds = 0.05, .warm_up_s = 0.05}));
  };
  EXPECT_NEAR(seconds(Protocol::graph) / seconds(Protocol::sustained), 1.0, 0.2);
}

TEST(GpuTest, ARunIsRightAndTimed) {
  BenchOptions options = short_options();
  options.suites = {Suite::prefill, Suite::append, Suite::decode, Suite::mixed, Suite::paged};
  options.shape = parse_shape_spec("q8:kv2:d64");
  options.workload.contexts = {300};
  options.device = {DeviceType::cuda, 0};
  options.gpu_probes = {
      .warm_up_s = 0.01, .seconds = 0.01, .read_bytes = 1 << 28, .products = {1024}};
  BenchReport report;
  try {
    report = run_bench(options, Registry::builtin(), this_machine());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_possible) throw;
    GTEST_SKIP() << error.what();
  }
  EXPECT_FALSE(report.wrong);
  EXPECT_FALSE(report.device.driver.empty());
  for (const Row& row : report.rows) {
    if (row.backend == "cuda-standard" && !row.ms) continue;  // where there is no cuBLASLt
    EXPECT_TRUE(row.ms) << row.backend << ": " << row.note;
    EXPECT_TRUE(row.sm_mhz);
  }
}

}  // namespace
}  // namespace headwise::bench
