#include "bench/calibration_maker.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "advisor/device/calibration_json.h"
#include "tests/advisor/device/written_file.h"

namespace headwise::bench {
namespace {

Row row(const std::string& suite, std::int64_t q_len, std::int64_t kv_len, double ms) {
  Row row;
  row.suite = suite;
  row.backend = "cpu-avx2";
  row.shape = "q8:kv2:d64";
  row.batch = 2;
  row.q_len = q_len;
  row.kv_len = kv_len;
  row.lens = "even";
  row.ms = ms;
  row.ms_min = 0.9 * ms;
  row.ms_max = 1.3 * ms;
  return row;
}

Row changed(Row row, const std::function<void(Row&)>& change) {
  change(row);
  return row;
}

BenchReport report() {
  BenchReport report;
  report.device.name = "Some(R) Processor";
  report.device.threads = 2;
  report.rows = {
      row("decode", 1, 4096, 0.5),
      changed(row("decode", 1, 4096, 9.0), [](Row& row) { row.backend = "standard"; }),
      changed(row("decode", 1, 4096, 0.1), [](Row& row) { row.peer = true; }),
      changed(row("decode", 1, 8192, 0.1), [](Row& row) { row.lens = "zipf"; }),
      changed(row("decode", 1, 8192, 0.1), [](Row& row) { row.shape += ":sinks"; }),
      changed(row("decode", 1, 8192, 0.1), [](Row& row) { row.ms = std::nullopt; }),
      changed(row("decode", 1, 8192, 0.7), [](Row& row) { row.shape += ":w1024"; }),
      row("append", 64, 4160, 2.0),
      row("prefill", 512, 512, 3.0),
      row("mixed", 64, 512, 4.0),
  };
  return report;
}

AxisValues at(const char* length, double value, double window = 0.0) {
  AxisValues values{{"q_type", "bf16"}, {"kv_type", "bf16"}, {"q_heads", 8.0}, {"kv_heads", 2.0},
                    {"head_dim", 64.0}, {"window", window},  {"batch", 2.0}};
  values[length] = value;
  return values;
}

TEST(CalibrationMaker, ABenchReadBackHasTheVeryTimesOfWhatWasChosen) {
  const Calibration made = calibration_of(report(), "headwise bench decode").value();
  const WrittenFile file("mine.json", calibration_json(made).dump());
  const Calibration read = Calibration::read(file.path());
  EXPECT_EQ(read.origin().system, "some_processor_2_threads");
  EXPECT_EQ(read.origin().framework, "headwise");
  EXPECT_EQ(read.origin().origin, "headwise bench decode");
  const CalibratedTime decode = read.lookup("attention_decode", at("kv_len", 4096)).time.value();
  EXPECT_EQ(decode.basis, Basis::measured);
  EXPECT_EQ(decode.microseconds, 500);
  EXPECT_NEAR(decode.error_bar, 0.2, 1e-12);
  EXPECT_FALSE(read.lookup("attention_decode", at("kv_len", 8192)));
  EXPECT_EQ(read.lookup("attention_decode", at("kv_len", 8192, 1024)).time.value().microseconds,
            700);
  AxisValues append = at("q_len", 64);
  append["prefix"] = 4096.0;
  EXPECT_EQ(read.lookup("attention_prefill", append).time.value().microseconds, 2000);
  AxisValues prefill = at("q_len", 512);
  prefill["prefix"] = 0.0;
  EXPECT_EQ(read.lookup("attention_prefill", prefill).time.value().microseconds, 3000);
}

TEST(CalibrationMaker, WhereNothingFitsThereIsNone) {
  BenchReport none = report();
  none.rows.resize(4);
  none.rows.erase(none.rows.begin(), none.rows.begin() + 2);
  EXPECT_FALSE(calibration_of(none, "").has_value());
  BenchReport outliers = report();
  for (Row& row : outliers.rows) row.outliers = 1000;
  EXPECT_FALSE(calibration_of(outliers, "").has_value());
  BenchReport invariant = report();
  for (Row& row : invariant.rows) row.batch_invariant = true;
  EXPECT_FALSE(calibration_of(invariant, "").has_value());
}

TEST(CalibrationMaker, TimesAreMeansAndSpreadsHalfBetweenTheQuarters) {
  CalibrationMaker maker;
  maker.add("layer_overhead", {}, {1}, {4e-6, 1e-6});
  maker.add("layer_overhead", {}, {1}, {2e-6, 3e-6, 90e-6});
  const std::vector<CalibrationTable> tables = maker.tables();
  ASSERT_EQ(tables.size(), 1U);
  const MeasuredPoint point = tables.front().grid.points().front();
  EXPECT_NEAR(point.microseconds, (4 + 1 + 2 + 3 + 90) / 5.0, 1e-9);
  EXPECT_NEAR(point.spread, (4.0 - 2.0) / 2 / 3, 1e-9);
}

}  // namespace
}  // namespace headwise::bench
