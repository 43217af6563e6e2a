#include "bench/claims.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/row.h"

namespace headwise::bench {
namespace {

/// Limits that meet at 100 FLOP a byte.
HardwareLimits limits() {
  HardwareLimits limits;
  limits.read_bytes_per_s = 1e12;
  limits.bf16.measured = 1e14;
  return limits;
}

/// A row of a claim; `ratio` is its time in that of the first of its job.
Row row(Topic topic, std::int64_t q_len, std::int64_t kv_len, std::optional<double> ratio = {}) {
  Row row;
  row.topic = topic;
  row.shape = "q16:kv4:d128";
  row.batch = 1;
  row.q_len = q_len;
  row.new_tokens = q_len;
  row.kv_len = kv_len;
  row.backend = "fake";
  row.ms = 1.0;
  row.tflops = 10.0;
  row.gbps = 100.0;
  row.limit = "compute";
  row.time_ratio = ratio;
  return row;
}

Row with_role(Row row, const char* role) {
  row.role = role;
  return row;
}

Claim judged(const std::vector<Row>& rows) { return judge_claims(rows, limits()).at(0); }

TEST(Claims, ScoresWrittenOutMustBeSlowerEverywhere) {
  const auto of = [](double at_1k, double at_2k) {
    return judged({with_role(row(Topic::scores, 1024, 1024), role::kFused),
                   with_role(row(Topic::scores, 1024, 1024, at_1k), role::kWritten),
                   with_role(row(Topic::scores, 2048, 2048), role::kFused),
                   with_role(row(Topic::scores, 2048, 2048, at_2k), role::kWritten)});
  };
  EXPECT_TRUE(*of(2.0, 3.0).holds);
  EXPECT_NE(of(2.0, 3.0).measured.find("2.00 to 3.00"), std::string::npos);
  EXPECT_FALSE(*of(2.0, 0.9).holds);
  EXPECT_EQ(of(2.0, 3.0).points.size(), 2U);
}

/// Workspaces of `power` of the context.
Claim memory_of(double power) {
  std::vector<Row> rows;
  for (const std::int64_t context : {2048, 8192, 32768}) {
    for (const char* role : {role::kFused, role::kWritten}) {
      Row planned = with_role(row(Topic::memory, context, context), role);
      planned.ms.reset();
      planned.note = kPlanned;
      const double exponent = role == role::kFused ? power : 2.0;
      planned.workspace_bytes =
          static_cast<std::int64_t>(64.0 * std::pow(static_cast<double>(context), exponent));
      rows.push_back(planned);
    }
  }
  return judged(rows);
}

TEST(Claims, AnEarlierGenerationsKernelMustLeaveHalfOfHopper) {
  std::vector<Row> rows{with_role(row(Topic::generations, 8192, 8192), role::kHopper),
                        with_role(row(Topic::generations, 8192, 8192), role::kAmpere)};
  rows[0].fraction_peak = 0.8;
  rows[1].fraction_peak = 0.4;
  EXPECT_TRUE(*judged(rows).holds);
  EXPECT_EQ(judged(rows).measured, "0.80 and 0.40, at the clocks of each");
  rows[1].fraction_peak = 0.6;
  EXPECT_FALSE(*judged(rows).holds);
  rows[1].fraction_peak = 0.4;
  rows[0].fraction_peak = 0.6;
  EXPECT_FALSE(*judged(rows).holds);
}

TEST(Claims, TheWorkspaceMustNotGrowFasterThanTheContext) {
  EXPECT_TRUE(*memory_of(0.0).holds);
  EXPECT_TRUE(*memory_of(1.0).holds);
  EXPECT_FALSE(*memory_of(1.3).holds);
  EXPECT_FALSE(*memory_of(2.0).holds);
  EXPECT_NE(memory_of(1.0).measured.find("as N^1.00; written out, where that fits, as N^2.00"),
            std::string::npos)
      << memory_of(1.0).measured;
  // 2 matrices x 16 heads x 2048^2 x 4 bytes.
  EXPECT_EQ(std::get<double>(memory_of(1.0).points.at(0).at(3)), 512.0);
}

/// `decode` and `prefill` are speeds at a group of 16, in those at a group of 1.
Claim groups_of(double decode, double prefill) {
  const auto at = [](std::int64_t q_len, const char* shape, std::optional<double> ratio) {
    Row of_group = row(Topic::groups, q_len, 4096, ratio);
    of_group.shape = shape;
    return of_group;
  };
  return judged({at(1, "q16:kv16:d128", {}), at(1, "q16:kv1:d128", 1.0 / decode),
                 at(4096, "q16:kv16:d128", {}), at(4096, "q16:kv1:d128", 1.0 / prefill)});
}

TEST(Claims, GroupsMustMatterToDecodeAlone) {
  EXPECT_TRUE(*groups_of(4.0, 1.05).holds);
  EXPECT_FALSE(*groups_of(1.1, 1.05).holds);
  EXPECT_FALSE(*groups_of(4.0, 2.0).holds);
  EXPECT_EQ(std::get<double>(groups_of(4.0, 1.0).points.at(1).at(1)), 16.0);
}

/// Times of as many keys in many requests, and on one thread, in that of one request.
Claim split_of(double many, std::optional<double> one_thread) {
  std::vector<Row> rows{with_role(row(Topic::split, 1, 65536), role::kOne),
                        with_role(row(Topic::split, 1, 4096, many), role::kMany)};
  rows[0].device = "CPU, 2 threads";
  if (one_thread) {
    rows.push_back(with_role(row(Topic::split, 1, 65536, one_thread), role::kOneThread));
    rows.back().device = "CPU, 1 thread";
  }
  return judged(rows);
}

TEST(Claims, ASplitRequestMustKeepUpAndUseTheThreads) {
  EXPECT_TRUE(*split_of(1.0, 1.8).holds);
  EXPECT_TRUE(*split_of(0.9, {}).holds);
  EXPECT_FALSE(*split_of(0.5, {}).holds);  // many are twice as fast
  EXPECT_FALSE(*split_of(1.0, 1.0).holds);
}

TEST(Claims, SplittingOverOneThreadIsLeftOpen) {
  std::vector<Row> rows{with_role(row(Topic::split, 1, 65536), role::kOne),
                        with_role(row(Topic::split, 1, 4096, 1.0), role::kMany),
                        with_role(row(Topic::split, 1, 65536, 1.0), role::kOneThread)};
  EXPECT_FALSE(judged(rows).holds);
}

/// Speeds of a decode over pages, in that over contiguous keys.
Claim pages_of(double at_1, double at_64) {
  const auto over = [](int page, std::optional<double> ratio) {
    Row paged = row(Topic::pages, 1, 4096, ratio);
    paged.page = page;
    return paged;
  };
  return judged({over(4096, {}), over(1, 1.0 / at_1), over(64, 1.0 / at_64)});
}

TEST(Claims, LargePagesMustBeFreeAndSmallOnesNot) {
  EXPECT_TRUE(*pages_of(0.5, 0.98).holds);
  EXPECT_FALSE(*pages_of(0.5, 0.8).holds);
  EXPECT_FALSE(*pages_of(1.0, 0.98).holds);
  EXPECT_EQ(std::get<std::string>(pages_of(1.0, 1.0).points.at(0).at(1)), "contiguous");
}

TEST(Claims, AMixedStepMustNotBeSlowerThanItsParts) {
  const auto of = [](double parts) {
    return judged({with_role(row(Topic::mixed, 2048, 4096), role::kWhole),
                   with_role(row(Topic::mixed, 2048, 4096, parts), role::kParts)});
  };
  EXPECT_TRUE(*of(1.1).holds);
  EXPECT_FALSE(*of(0.9).holds);
}

TEST(Claims, AppendIsMemoryBoundWhereTheLimitSaysSo) {
  std::vector<Row> rows{row(Topic::append, 64, 1088), row(Topic::append, 64, 131136)};
  rows[1].limit = "bandwidth";
  rows[1].tflops = 5.0;  // 50 FLOP a byte
  EXPECT_TRUE(*judged(rows).holds);
  EXPECT_NE(judged(rows).measured.find("50 FLOP/byte behind 131072 tokens: bandwidth bound"),
            std::string::npos);
  EXPECT_NE(judged(rows).measured.find("at 100, for which 128 of them would do"), std::string::npos)
      << judged(rows).measured;
  rows[1].limit = "compute";
  EXPECT_FALSE(*judged(rows).holds);
}

TEST(Claims, WhatWasNotTimedLeavesThemOpen) {
  for (int i = 0; i < kTopics; ++i) {
    const auto topic = static_cast<Topic>(i);
    Row lacking = row(topic, 1, 64);
    lacking.ms = lacking.tflops = lacking.gbps = {};
    lacking.note = "no luck";
    const Claim claim = judged({lacking});
    EXPECT_FALSE(claim.holds) << name_of(topic);
    EXPECT_EQ(claim.measured, "not measured: no luck") << name_of(topic);
    EXPECT_TRUE(to_json(claim)["holds"].is_null());
  }
}

TEST(Claims, AreADocumentAndALine) {
  const Claim claim = groups_of(1.1, 1.05);
  const auto json = to_json(claim);
  EXPECT_EQ(json["name"], "groups");
  EXPECT_EQ(json["holds"], false);
  EXPECT_EQ(json["ran"][0], "fake");
  EXPECT_EQ(json["points"].size(), 4U);
  EXPECT_EQ(json["points"][1]["FLOP/byte"], 100.0);
  EXPECT_TRUE(json["points"][3]["x group of 1"].is_number());
  const std::string line = verdict_line(claim);
  EXPECT_TRUE(line.starts_with(claim.text)) << line;
  EXPECT_TRUE(line.ends_with("does not hold here")) << line;
}

}  // namespace
}  // namespace headwise::bench
