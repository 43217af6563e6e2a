// Whole runs of the suite claims, in little.

#include <gtest/gtest.h>

#include "bench/table.h"
#include "cpu/reference.h"
#include "cpu/standard.h"
#include "headwise/error.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/fake_backends.h"

namespace headwise::bench {
namespace {

BenchOptions little_claims() {
  BenchOptions options = short_options();
  options.suites = {Suite::claims};
  options.claims = {
      .shape = parse_shape_spec("q4:kv2:d16"), .contexts = {64, 128}, .new_tokens = 8, .batch = 2};
  options.timing.turn_s = 0.001;
  return options;
}

BenchReport run_with(const BenchOptions& options,
                     FakeBackend::Fault fault = FakeBackend::Fault::none) {
  const FakeBackend backend("fake", fault);
  const Registry registry({&backend, &standard_backend(), &reference_backend()});
  return run_bench(options, registry, this_machine());
}

TEST(ClaimRows, EachClaimHasItsTable) {
  const BenchReport report = run_with(little_claims());
  EXPECT_FALSE(report.wrong);
  std::vector<std::size_t> points;
  for (const Claim& claim : report.claims) points.push_back(claim.points.size());
  EXPECT_EQ(points, (std::vector<std::size_t>{2, 2, 6, 2, 12, 2, 2}));
  for (const Row& row : report.rows) {
    EXPECT_TRUE(row.ms || row.note == kPlanned) << row.suite << ": " << row.note;
    EXPECT_EQ(row.ms.has_value(), row.topic != Topic::memory);
  }
  for (const Claim& claim : report.claims) EXPECT_TRUE(claim.holds) << claim.measured;
  EXPECT_EQ(report.claims[2].ran, std::vector<std::string>{"fake row 0 (fake)"});

  const std::string text = format_table(report);
  for (const Claim& claim : report.claims)
    EXPECT_NE(text.find(verdict_line(claim)), std::string::npos) << text;
  EXPECT_EQ(text.find("kernel row"), std::string::npos);  // no table of rows beside

  // The sizes are those asked for.
  for (const Row& row : report.rows) {
    if (row.topic == Topic::append) {
      EXPECT_EQ(row.new_tokens, 8);
    }
    if (row.topic == Topic::mixed) {
      EXPECT_EQ(row.batch, 3);
    }
    if (row.topic == Topic::groups && row.q_len == 1) {
      EXPECT_EQ(row.batch, 2);
      EXPECT_EQ(row.kv_len, 128);
    }
    if (row.role == role::kMany) {
      EXPECT_EQ(row.batch * row.kv_len, 128);
    }
  }
}

TEST(ClaimRows, OneThreadStandsBesideASplitOverAll) {
  BenchOptions options = little_claims();
  options.only = "split";
  options.threads = 0;
  const BenchReport report = run_with(options);
  ASSERT_EQ(report.rows.size(), 3U);
  EXPECT_EQ(report.rows[2].role, role::kOneThread);
  EXPECT_TRUE(report.rows[2].device.ends_with(", 1 thread")) << report.rows[2].device;
  EXPECT_EQ(report.claims.at(0).holds.has_value(), this_machine().cpu.threads > 1);
}

TEST(ClaimRows, OneCanBeChosen) {
  BenchOptions options = little_claims();
  options.only = "^mem";
  const BenchReport report = run_with(options);
  ASSERT_EQ(report.claims.size(), 1U);
  EXPECT_EQ(report.claims[0].topic, Topic::memory);
  EXPECT_EQ(report.rows.size(), 4U);
  options.only = "memroy";
  EXPECT_THROW(run_with(options), Error);
}

TEST(ClaimRows, AWrongBackendIsFoundAndShown) {
  BenchOptions options = little_claims();
  options.only = "scores";
  const BenchReport report = run_with(options, FakeBackend::Fault::unwritten);
  EXPECT_TRUE(report.wrong);
  EXPECT_FALSE(report.claims.at(0).holds);
  EXPECT_NE(format_table(report).find("wrong:"), std::string::npos);
}

TEST(ClaimRows, AnInterruptKeepsWhatWasMeasured) {
  BenchOptions options = little_claims();
  bool split = false;
  options.progress = [&](std::string_view line) {
    split = split || line.find("batch 16") != std::string_view::npos;
  };
  options.stop = [&] { return split; };
  const BenchReport report = run_with(options);
  EXPECT_TRUE(report.interrupted);
  ASSERT_GE(report.claims.size(), 3U);
  EXPECT_TRUE(report.claims[2].holds);
  EXPECT_LT(report.claims.size(), 7U);
}

}  // namespace
}  // namespace headwise::bench
