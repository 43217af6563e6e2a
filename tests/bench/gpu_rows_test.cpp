// A whole run on a GPU that is made of host memory.

#include <gtest/gtest.h>

#include "cpu/reference.h"
#include "cpu/standard.h"
#include "headwise/error.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/fake_backends.h"
#include "tests/bench/fake_gpu.h"
#include "tests/bench/fake_peer.h"

namespace headwise::bench {
namespace {

using Fault = FakeBackend::Fault;

struct GpuRun {
  FakeGpu gpu;
  FakeBackend backend;
  FakeBackend beside{"cuda-standard", Fault::none, &gpu};
  BenchOptions options = short_options();

  explicit GpuRun(Fault fault = Fault::none, std::int64_t memory = 1 << 30)
      : gpu(memory), backend("fake", fault, &gpu) {
    options.device = gpu.device();
    options.gpu = &gpu;
    options.gpu_probes = {.read_bytes = 1 << 22, .products = {512}};
    options.timing = {.warm_up_s = 0.0,
                      .measure_s = 0.01,
                      .least_calls = 3,
                      .turn_s = 0.004,
                      .turn_warm_up_s = 0.002};
    options.rotate_bytes = 1 << 15;  // 4 copies of 8 KiB, and one more
  }

  BenchReport report() {
    const Registry registry({&backend, &beside, &standard_backend(), &reference_backend()});
    return run_bench(options, registry, machine_with_fake_gpu());
  }
};

TEST(GpuRows, StandBesideCudaStandard) {
  GpuRun run;
  const BenchReport report = run.report();
  EXPECT_FALSE(report.wrong);
  EXPECT_EQ(report.device.gpu->name, "Fake");
  EXPECT_EQ(report.device.driver, "1.2");
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_EQ(report.rows[0].backend, "fake");
  EXPECT_EQ(report.rows[1].backend, "cuda-standard");
  for (const Row& row : report.rows) {
    ASSERT_TRUE(row.ms) << row.note;
    EXPECT_NEAR(*row.ms, 1.0, 1e-9);
    EXPECT_EQ(row.device, "Fake, cuda:0");
    EXPECT_EQ(row.sm_mhz, 1000.0);
    EXPECT_EQ(row.protocol, "graph");  // so small a step should take less than 0.3 ms
    EXPECT_EQ(row.limit, "bandwidth");
    EXPECT_NEAR(*row.fraction_peak, *row.gbps / 25.0, 1e-9);
    EXPECT_NEAR(*row.fraction, *row.gbps / 20.0, 1e-9);
  }
  EXPECT_EQ(run.gpu.captured, 5);  // a round of the copies
  EXPECT_GT(run.gpu.replays, 0);
}

TEST(GpuRows, EverySuiteAndFormatIsChecked) {
  for (const char* shape : {"q4:kv2:d16", "q4:kv2:d16:v8:w5:cap10:sinks"}) {
    GpuRun run;
    run.options.suites = {Suite::prefill, Suite::append, Suite::mixed, Suite::paged};
    run.options.shape = parse_shape_spec(shape);
    const BenchReport report = run.report();
    EXPECT_FALSE(report.wrong);
    EXPECT_EQ(report.rows.size(), 2U + 2U + 3U + 6U);
    for (const Row& row : report.rows) EXPECT_TRUE(row.ms) << row.note;
  }
}

TEST(GpuRows, ClaimsAreChecked) {
  GpuRun run;
  run.options.suites = {Suite::claims};
  run.options.claims = {.shape = parse_shape_spec("q4:kv2:d16"), .contexts = {64}, .batch = 2};
  const BenchReport report = run.report();
  EXPECT_FALSE(report.wrong);
  EXPECT_EQ(report.claims.size(), 7U);
  EXPECT_EQ(report.claims[3].points.size(), 2U);
  for (const Row& row : report.rows) EXPECT_TRUE(row.ms || row.note == kPlanned) << row.note;
}

TEST(GpuRows, ProtocolsAreThoseAskedFor) {
  for (const Protocol protocol : {Protocol::sustained, Protocol::burst, Protocol::graph}) {
    GpuRun run;
    run.options.protocol = protocol;
    run.options.backend = "fake";
    const BenchReport report = run.report();
    ASSERT_EQ(report.rows.size(), 1U);
    EXPECT_EQ(report.rows[0].protocol, name_of(protocol));
    EXPECT_NEAR(*report.rows[0].ms, 1.0, 1e-9);
    EXPECT_EQ(run.gpu.replays > 0, protocol == Protocol::graph);
  }
}

TEST(GpuRows, LongCallsAreSustained) {
  GpuRun run;
  run.options.shape = parse_shape_spec("q4:kv2:d128");
  run.options.workload.contexts = {8192};  // 8 MiB, 0.4 ms
  run.options.backend = "fake";
  EXPECT_EQ(run.report().rows.at(0).protocol, "sustained");
}

TEST(GpuRows, AWrongRowHasNoTime) {
  for (const Fault fault : {Fault::last_row, Fault::unwritten}) {
    const BenchReport report = GpuRun(fault).report();
    EXPECT_TRUE(report.wrong);
    EXPECT_FALSE(report.rows[0].ms);
    EXPECT_EQ(report.rows[0].note.substr(0, 6), "wrong:") << report.rows[0].note;
    EXPECT_TRUE(report.rows[1].ms);
  }
}

TEST(GpuRows, AKernelThatFailsIsANote) {
  GpuRun run;
  run.gpu.breaks = true;
  const BenchReport report = run.report();
  EXPECT_TRUE(report.wrong);
  EXPECT_EQ(report.rows[0].note, "failed: an illegal memory access");
  EXPECT_GT(run.gpu.forgotten, 0);
}

TEST(GpuRows, WhatCannotBeCapturedIsANote) {
  GpuRun run;
  run.gpu.can_capture = false;
  const BenchReport report = run.report();
  EXPECT_FALSE(report.rows[0].ms);
  EXPECT_EQ(report.rows[0].note, "it cannot be captured");
}

TEST(GpuRows, WhatDoesNotFitIsANote) {
  GpuRun run(Fault::none, 1 << 20);
  run.options.workload.contexts = {1 << 14};
  const BenchReport report = run.report();
  EXPECT_FALSE(report.rows[0].ms);
  EXPECT_NE(report.rows[0].note.find("q, K, V and out need"), std::string::npos);
  EXPECT_FALSE(report.wrong);
}

TEST(GpuRows, PeersAreToldWhereAndHow) {
  GpuRun run;
  run.options.peers = {fake_peer("tells")};
  const BenchReport report = run.report();
  const Row& row = report.rows.back();
  EXPECT_TRUE(row.peer);
  EXPECT_EQ(row.backend, "fake-peer 1.0 2.3");
  EXPECT_EQ(row.note, "cuda:0 graph True page 8");
  ASSERT_TRUE(row.ms) << row.note;
  EXPECT_EQ(row.sm_mhz, 1000.0);
  EXPECT_FALSE(report.wrong);
}

TEST(GpuRows, PeersAreHandedFp8KvAsNumbers) {
  GpuRun run;
  run.options.shape = parse_shape_spec("q4:kv2:d16:f8");
  run.options.peers = {fake_peer("tells scales")};
  const BenchReport report = run.report();
  EXPECT_FALSE(report.wrong);
  EXPECT_TRUE(report.rows.back().ms) << report.rows.back().note;
  EXPECT_EQ(report.rows.back().note, "k_scale 1.25 v_scale 0.5");
  EXPECT_EQ(report.rows.back().page, 8);
}

TEST(GpuRows, PeersAreNotHandedInt8Kv) {
  GpuRun run;
  run.options.shape = parse_shape_spec("q4:kv2:d16:i8");
  run.options.peers = {fake_peer()};
  const BenchReport report = run.report();
  EXPECT_TRUE(report.rows.front().ms) << report.rows.front().note;
  EXPECT_FALSE(report.rows.back().ms);
  EXPECT_EQ(report.rows.back().note, "int8 KV: no peer on a GPU is set up for it");
}

TEST(GpuRows, AboveThePeakTheRunIsVoid) {
  GpuRun run;
  run.options.shape = parse_shape_spec("q4:kv2:d128:full");
  run.options.suites = {Suite::prefill};
  run.options.workload.contexts = {256};  // 0.13 GFLOP in 1 ms
  run.options.backend = "fake";
  run.options.protocol = Protocol::sustained;
  EXPECT_FALSE(run.report().is_void());
  run.gpu.mhz = 50.0;  // the units do 0.1 TFLOP/s then
  const BenchReport report = run.report();
  EXPECT_EQ(report.rows[0].limit, "compute");
  EXPECT_TRUE(report.is_void()) << *report.rows[0].fraction_peak;
}

TEST(GpuRows, AGpuThatIsNotThereIsAnErrorBeforeAnything) {
  GpuRun run;
  run.options.device.index = 1;
  run.options.progress = [](std::string_view line) { ADD_FAILURE() << line; };
  try {
    run.report();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
    EXPECT_NE(std::string(error.what()).find("cuda:1"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace headwise::bench
