#include "bench/bench.h"

#include <gtest/gtest.h>

#include "cpu/reference.h"
#include "cpu/standard.h"
#include "headwise/error.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/fake_backends.h"
#include "tests/bench/fake_peer.h"

namespace headwise::bench {
namespace {

using Fault = FakeBackend::Fault;

/// `backend` is preferred to the real ones.
BenchReport run_with(const FakeBackend& backend, const BenchOptions& options) {
  const Registry registry({&backend, &standard_backend(), &reference_backend()});
  return run_bench(options, registry, this_machine());
}

TEST(RunBench, PutsStandardBesideTheChosenBackend) {
  const FakeBackend backend("fake", Fault::none);
  BenchOptions options = short_options();
  options.suites = {Suite::prefill, Suite::append, Suite::decode};
  const BenchReport report = run_with(backend, options);
  ASSERT_EQ(report.rows.size(), 6U);
  EXPECT_FALSE(report.wrong);
  EXPECT_FALSE(report.interrupted);
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const Row& row = report.rows[i];
    EXPECT_EQ(row.backend, i % 2 == 0 ? "fake" : "standard");
    EXPECT_EQ(row.suite, name_of(options.suites[i / 2]));
    EXPECT_EQ(row.page, i % 2 == 0 ? 8 : 16);  // what each prefers
    ASSERT_TRUE(row.ms) << row.note;
    EXPECT_LE(*row.ms_min, *row.ms);
    EXPECT_LE(*row.ms, *row.ms_max);
    EXPECT_GT(*row.fraction, 0.0);
    EXPECT_FALSE(row.kernel_row.empty());
    EXPECT_FALSE(row.times_peer);
  }
  EXPECT_EQ(report.rows[2].q_len, 64);
  EXPECT_EQ(report.rows[2].kv_len, 128);
}

TEST(RunBench, AMixedStepStandsBesideItsParts) {
  const FakeBackend backend("fake", Fault::none);
  BenchOptions options = short_options();
  options.suites = {Suite::mixed};
  options.workload.batch = 3;
  const BenchReport report = run_with(backend, options);
  ASSERT_EQ(report.rows.size(), 3U);
  EXPECT_NE(report.rows[0].note.find("x the time of its parts"), std::string::npos)
      << report.rows[0].note;
  EXPECT_EQ(report.rows[1].backend, "standard");
  EXPECT_EQ(report.rows[2].backend, "fake");
  EXPECT_NE(report.rows[2].note.find("its parts"), std::string::npos) << report.rows[2].note;
  EXPECT_TRUE(report.rows[2].ms);
}

TEST(RunBench, ASharedPrefixIsRight) {
  const FakeBackend backend("fake", Fault::none);
  BenchOptions options = short_options();
  options.suites = {Suite::decode, Suite::append, Suite::mixed};
  options.workload.batch = 3;
  options.workload.shared_prefix = 40;
  options.workload.new_tokens = {8};
  options.peers = {fake_peer()};
  const BenchReport report = run_with(backend, options);
  EXPECT_FALSE(report.wrong);
  EXPECT_EQ(report.rows.size(), 3U + 3U + 4U);
  for (const Row& row : report.rows) {
    EXPECT_TRUE(row.ms) << row.note;
    EXPECT_EQ(row.lens, "even, prefix 40");
  }
}

TEST(RunBench, BatchInvarianceIsAskedForAndSaid) {
  const FakeBackend backend("fake", Fault::none);
  BenchOptions options = short_options();
  options.suites = {Suite::prefill, Suite::decode, Suite::mixed};
  options.batch_invariant = true;
  options.peers = {fake_peer()};
  const BenchReport report = run_with(backend, options);
  for (const Row& row : report.rows) {
    EXPECT_EQ(row.ms.has_value(), row.backend != "standard") << row.note;  // it cannot
    EXPECT_EQ(row.batch_invariant, !row.peer);
    EXPECT_EQ(row.note.find("batch_invariant") != std::string::npos, !row.peer) << row.note;
    EXPECT_EQ(row.kernel_row == "row 1 (fake invariant)", row.backend == "fake");
  }
}

TEST(RunBench, OutliersAreRightAndSaid) {
  FakeBackend backend("fake", Fault::none);
  backend.repeats = 12;
  BenchOptions options = short_options();
  options.suites = {Suite::prefill, Suite::append, Suite::decode, Suite::mixed, Suite::paged};
  options.workload.outliers = 3;
  options.workload.new_tokens = {8};
  options.peers = {fake_peer()};
  const BenchReport report = run_with(backend, options);
  EXPECT_FALSE(report.wrong);
  EXPECT_EQ(report.rows.size(), 3U + 3U + 3U + 4U + 2U * 4U);
  const auto says = [](const Row& row, const char* text) {
    return row.note.find(text) != std::string::npos;
  };
  for (const Row& row : report.rows) {
    EXPECT_TRUE(row.ms) << row.note;
    EXPECT_EQ(row.outliers, 3);
    EXPECT_TRUE(says(row, "one query row in 3 is an outlier")) << row.note;
    const bool in_parts = says(row, "its parts: ");
    EXPECT_EQ(says(row, in_parts ? "; 24 rows taken again a call" : "; 12 rows taken again a call"),
              row.backend == "fake")
        << row.note;
  }
  options.suites = {Suite::decode};
  options.workload.outliers = 1;
  EXPECT_TRUE(says(run_with(backend, options).rows[0], "each query row is an outlier"));
  options.workload.outliers = 0;
  EXPECT_FALSE(says(run_with(backend, options).rows[0], "outlier"));
}

TEST(RunBench, PagesStandBesideContiguousKeys) {
  const FakeBackend backend("fake", Fault::none);
  BenchOptions options = short_options();
  options.suites = {Suite::paged};
  options.workload.contexts = {200};
  const BenchReport report = run_with(backend, options);
  ASSERT_EQ(report.rows.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    const Row& row = report.rows[i];
    EXPECT_EQ(row.q_len, i < 3 ? 1 : 200);
    EXPECT_EQ(row.page, (std::vector{200, 64, 16})[i % 3]);
    EXPECT_TRUE(row.ms) << row.note;
    EXPECT_NE(row.note.find("contiguous keys"), std::string::npos) << row.note;
    EXPECT_EQ(row.note.find("x the speed") != std::string::npos, i % 3 > 0) << row.note;
  }
  options.shape.page_size = 8;
  EXPECT_EQ(run_with(backend, options).rows.size(), 4U);
}

TEST(RunBench, AWrongRowHasNoTime) {
  for (const Fault fault : {Fault::last_row, Fault::unwritten}) {
    const FakeBackend backend("fake", fault);
    const BenchReport report = run_with(backend, short_options());
    ASSERT_EQ(report.rows.size(), 2U);
    EXPECT_TRUE(report.wrong);
    EXPECT_FALSE(report.rows[0].ms);
    EXPECT_FALSE(report.rows[0].tflops);
    EXPECT_FALSE(report.rows[0].fraction);
    EXPECT_EQ(report.rows[0].note.substr(0, 6), "wrong:") << report.rows[0].note;
    EXPECT_TRUE(report.rows[1].ms);
  }
}

TEST(RunBench, AWorkspaceThatDoesNotFitIsANote) {
  const FakeBackend backend("fake", Fault::no_memory);
  const BenchReport report = run_with(backend, short_options());
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_FALSE(report.rows[0].ms);
  EXPECT_NE(report.rows[0].note.find("1048576.0 TiB"), std::string::npos) << report.rows[0].note;
  EXPECT_FALSE(report.wrong);
}

TEST(RunBench, TensorsThatDoNotFitAreANote) {
  const FakeBackend backend("fake", Fault::none);
  BenchOptions options = short_options();
  options.workload.contexts = {1 << 30};
  options.workload.batch = 64;
  const BenchReport report = run_with(backend, options);
  ASSERT_EQ(report.rows.size(), 2U);
  for (const Row& row : report.rows) {
    EXPECT_FALSE(row.ms);
    EXPECT_NE(row.note.find("q, K, V and out need"), std::string::npos) << row.note;
  }
}

TEST(RunBench, SaysThatStandardIsChosenAndAddsReference) {
  const FakeBackend backend("fake", Fault::refuses);
  const BenchReport report = run_with(backend, short_options());
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_EQ(report.rows[0].backend, "standard");
  EXPECT_NE(report.rows[0].note.find("chosen"), std::string::npos);
  EXPECT_EQ(report.rows[1].backend, "reference");
  EXPECT_TRUE(report.rows[1].ms);
}

TEST(RunBench, AForcedBackendRunsAlone) {
  const FakeBackend backend("fake", Fault::none);
  BenchOptions options = short_options();
  options.backend = "reference";
  const BenchReport report = run_with(backend, options);
  ASSERT_EQ(report.rows.size(), 1U);
  EXPECT_EQ(report.rows[0].backend, "reference");
}

TEST(RunBench, AForcedBackendThatCannotIsAnError) {
  const FakeBackend backend("fake", Fault::refuses);
  BenchOptions options = short_options();
  options.backend = "fake";
  try {
    run_with(backend, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
    EXPECT_NE(std::string(error.what()).find("told to refuse"), std::string::npos);
  }
}

TEST(RunBench, GraphsFailBeforeAnythingIsMeasured) {
  const FakeBackend backend("fake", Fault::none);
  BenchOptions options = short_options();
  options.protocol = Protocol::graph;
  options.progress = [](std::string_view line) { ADD_FAILURE() << line; };
  EXPECT_THROW(run_with(backend, options), Error);
}

TEST(RunBench, EndsWithTheRowsSoFar) {
  const FakeBackend backend("fake", Fault::none);
  BenchOptions options = short_options();
  options.suites = {Suite::decode, Suite::append};
  bool append = false;
  options.progress = [&](std::string_view line) {
    append = append || line.find("append") != std::string_view::npos;
  };
  options.stop = [&] { return append; };
  const BenchReport report = run_with(backend, options);
  EXPECT_TRUE(report.interrupted);
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_EQ(report.rows[1].suite, "decode");
  EXPECT_TRUE(report.rows[1].ms);
}

TEST(RunBench, ProbesMeasureSomething) {
  const MachineLimits limits =
      measure_limits(this_machine(), 1, short_options().probes, [](std::string_view) {});
  EXPECT_GT(limits.read_bytes_per_s, 1e8);
  EXPECT_GT(limits.f32_fma, 1e8);
  EXPECT_GT(limits.f32_product, 1e6);
  EXPECT_EQ(limits.bf16_dot.has_value(), this_machine().cpu.avx512_bf16);
  EXPECT_EQ(limits.bf16_product.has_value(), limits.bf16_dot.has_value());
  EXPECT_GE(*limits.hardware().bf16.peak, limits.f32_fma);
}

}  // namespace
}  // namespace headwise::bench
