#include "bench/row.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/table.h"

namespace headwise::bench {
namespace {

std::vector<std::string> keys(const nlohmann::ordered_json& json) {
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) names.push_back(name);
  return names;
}

/// The command line's contract: scripts depend on these names.
const std::vector<std::string> kFields{
    "suite",         "backend",         "kernel_row", "device",     "shape",
    "batch",         "q_len",           "kv_len",     "new_tokens", "lens",
    "page",          "protocol",        "sm_mhz",     "ms",         "ms_min",
    "ms_max",        "tflops",          "gbps",       "limit",      "fraction",
    "fraction_peak", "workspace_bytes", "peer",       "goal",       "note"};

BenchReport report() {
  BenchReport report;
  report.device = {
      .name = "A processor", .instruction_sets = "AVX2", .threads = 2, .memory_bytes = 1 << 30};
  report.limits = {.threads = 2,
                   .read_bytes_per_s = 4e10,
                   .f32_product = 4e11,
                   .f32_fma = 5e11,
                   .bf16_product = {},
                   .bf16_dot = {}};
  Row timed;
  timed.suite = "decode";
  timed.backend = "standard";
  timed.kernel_row = "row 1";
  timed.limit = "bandwidth";
  timed.page = 16;
  timed.ms = 1.5;
  timed.fraction = 0.75;
  timed.workspace_bytes = 3 << 20;
  Row refused;
  refused.suite = "decode";
  refused.backend = "other";
  refused.note = "it cannot";
  report.rows = {timed, refused};
  return report;
}

TEST(RowJson, HasTheFieldsOfTheContractAndNoOthers) {
  EXPECT_EQ(keys(to_json(Row{})), kFields);
  EXPECT_EQ(keys(to_json(report())), (std::vector<std::string>{"device", "limits", "rows"}));
}

TEST(RowJson, WhatIsAbsentIsNull) {
  const auto json = to_json(report());
  EXPECT_EQ(json["rows"][0]["ms"], 1.5);
  EXPECT_EQ(json["rows"][0]["page"], 16);
  EXPECT_EQ(json["rows"][0]["peer"], false);
  for (const char* name : {"sm_mhz", "goal", "fraction_peak", "note"})
    EXPECT_TRUE(json["rows"][0][name].is_null()) << name;
  for (const char* name : {"kernel_row", "ms", "tflops", "gbps", "fraction", "workspace_bytes"})
    EXPECT_TRUE(json["rows"][1][name].is_null()) << name;
  EXPECT_EQ(json["rows"][1]["note"], "it cannot");
  EXPECT_EQ(json["limits"]["read_gbps"], 40.0);
  EXPECT_TRUE(json["limits"]["bf16_dot_tflops"].is_null());
}

TEST(Table, ShowsEveryRowAndWhyOneHasNoTime) {
  const std::string text = format_table(report());
  for (const char* part :
       {"A processor", "40.0 GB/s", "standard", "1.500", "0.75", "3.0 MiB", "other", "it cannot"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(RowJson, GoalsStandBesideWhatWasMeasured) {
  Row row;
  row.goals = {{.what = "x fastest peer", .bound = 1.2, .at_most = false, .measured = 1.3},
               {.what = "x BF16's time", .bound = 0.6, .at_most = true, .measured = 0.7},
               {.what = "of dot", .bound = 0.8, .at_most = false, .measured = {}},
               {.what = "x time without outliers", .at_most = true, .measured = 1.7}};
  const auto goals = to_json(row)["goal"];
  ASSERT_EQ(goals.size(), 4U);
  EXPECT_EQ(goals[0]["least"], 1.2);
  EXPECT_EQ(goals[0]["measured"], 1.3);
  EXPECT_EQ(goals[0]["met"], true);
  EXPECT_EQ(goals[1]["most"], 0.6);
  EXPECT_EQ(goals[1]["met"], false);
  EXPECT_TRUE(goals[2]["met"].is_null());
  EXPECT_TRUE(goals[2]["measured"].is_null());
  EXPECT_TRUE(goals[3]["most"].is_null());
  EXPECT_TRUE(goals[3]["met"].is_null());
  EXPECT_EQ(goals[3]["measured"], 1.7);
}

TEST(Table, AGoalWithoutABoundShowsItsRatioAlone) {
  BenchReport some = report();
  some.rows[0].lens = "even";
  some.rows[0].outliers = 10000;
  some.rows[0].goals = {{.what = "x time without outliers", .at_most = true, .measured = 1.736}};
  const std::string text = format_table(some);
  EXPECT_NE(text.find("even, outliers 10000"), std::string::npos) << text;
  EXPECT_NE(text.find("1.74"), std::string::npos) << text;
  EXPECT_NE(text.find("x time without outliers"), std::string::npos) << text;
  for (const char* part : {"<= 0.00", "not measured", "NO"})
    EXPECT_EQ(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(Table, ShowsPeersGoalsAndShapesWhereThereAreAny) {
  BenchReport some = report();
  const std::string plain = format_table(some);
  for (const char* part : {"x peer", "best of probes and peers", "wanted"})
    EXPECT_EQ(plain.find(part), std::string::npos) << part;
  some.rows[0].times_peer = 1.25;
  some.rows[0].goals = {{.what = "of read", .bound = 0.92, .at_most = false, .measured = 0.5}};
  some.rows[1].peer = true;
  some.rows[1].shape = "q8:kv8:d128";
  const std::string text = format_table(some);
  for (const char* part :
       {"x peer", "1.25", "best of probes and peers", "q8:kv8:d128", ">= 0.92", "of read", "NO"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(Report, IsVoidAboveThePhysicalPeak) {
  BenchReport some = report();
  some.rows[0].fraction = 1.2;  // no ceiling
  EXPECT_FALSE(some.is_void());
  some.rows[0].fraction_peak = 1.01;
  EXPECT_TRUE(some.is_void());
}

}  // namespace
}  // namespace headwise::bench
