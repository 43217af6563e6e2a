#include "bench/cache_bench.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/row.h"
#include "bench/table.h"

namespace headwise::bench {
namespace {

CacheBenchOptions small(std::string only = "") {
  return {.only = std::move(only), .measure_s = 0.0, .scale = 512};
}

TEST(CacheBench, HasARowOfEveryKindOfWork) {
  const std::vector<CacheRow> rows = bench_cache(small());
  ASSERT_EQ(rows.size(), 8U);
  for (const CacheRow& row : rows) {
    EXPECT_EQ(row.name.rfind("cache ", 0), 0U) << row.name;
    EXPECT_TRUE(has_cache_row("^" + row.name + "$")) << row.name;
    EXPECT_GT(row.tokens, 0) << row.name;
    EXPECT_GT(row.ns_min, 0.0) << row.name;
    EXPECT_LE(row.ns_min, row.ns) << row.name;
    EXPECT_LE(row.ns, row.ns_max) << row.name;
  }
}

TEST(CacheBench, RunsWhatIsWanted) {
  const std::vector<CacheRow> rows = bench_cache(small("fork|find"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "cache fork");
  EXPECT_EQ(rows[1].name, "cache find");
  EXPECT_FALSE(has_cache_row("prefill"));
}

TEST(CacheBench, EndsWhenItIsToldTo) {
  CacheBenchOptions options = small();
  int asked = 0;
  options.stop = [&] { return ++asked > 8; };  // within the first row's rounds, or soon after
  EXPECT_LT(bench_cache(options).size(), 8U);
}

TEST(CacheBench, RowsStandBesideTheirGoals) {
  BenchReport report;
  report.cache = {{.name = "cache grow", .what = "work", .tokens = 9, .ns = 30, .at_most = 20}};
  const auto json = to_json(report)["cache"];
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["name"], "cache grow");
  EXPECT_EQ(json[0]["ns"], 30.0);
  EXPECT_EQ(json[0]["goal"][0]["most"], 20.0);
  EXPECT_EQ(json[0]["goal"][0]["met"], false);
  report.cache.push_back({.name = "cache fork", .what = "work", .tokens = 9, .ns = 30});
  EXPECT_TRUE(to_json(report)["cache"][1]["goal"].empty());
  const std::string table = format_table(report);
  EXPECT_NE(table.find("cache grow"), std::string::npos) << table;
  EXPECT_NE(table.find("NO"), std::string::npos) << table;
}

}  // namespace
}  // namespace headwise::bench
