#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "advisor/device/calibration.h"
#include "advisor/device/calibration_json.h"
#include "tests/advisor/device/written_file.h"
#include "tests/model/error_of.h"

namespace headwise {
namespace {

const std::vector<GridAxis> kAxes{{.name = "batch", .unit = "requests"},
                                  {.name = "prefix", .unit = "tokens", .is_log = false}};

Calibration own() {
  return {{.name = "",
           .source = Calibration::Source::measured,
           .system = "toy_2_threads",
           .framework = "headwise",
           .version = "1 abc",
           .date = "2026-12-01",
           .origin = "a test",
           .licence = "",
           .file = {}},
          {{"prefill",
            {{"type", "bf16"}, {"dim", 64.0}},
            CalibrationGrid(kAxes, {{{1, 0}, 12.5, 0.02}, {{1, 512}, 20.25, 0.0625}})},
           {"prefill", {{"type", "f32"}, {"dim", 64.0}}, CalibrationGrid(kAxes, {{{1, 0}, 30}})},
           {"overhead", {}, CalibrationGrid({{.name = "rows", .unit = ""}}, {{{1}, 3.5, 0.1}})}}};
}

AxisValues values(double prefix, const char* type = "bf16") {
  return {{"batch", 1.0}, {"prefix", prefix}, {"type", type}, {"dim", 64.0}};
}

/// What bench saves: its own fields, and the calibration among them.
std::string bench_document() {
  const nlohmann::ordered_json document{{"device", {{"name", "A processor"}}},
                                        {"limits", {{"read_gbps", 40.0}}},
                                        {"rows", nlohmann::ordered_json::array()},
                                        {"calibration", calibration_json(own())}};
  return document.dump();
}

TEST(OwnCalibration, ReadBackHasTheVeryPointsWithTheirSpread) {
  for (const std::string& text : {calibration_json(own()).dump(), bench_document()}) {
    const WrittenFile file("mine.json", text);
    const Calibration calibration = Calibration::read(file.path());
    EXPECT_EQ(calibration.origin().name, "mine");
    EXPECT_EQ(calibration.origin().source, Calibration::Source::measured);
    EXPECT_EQ(calibration.origin().system, "toy_2_threads");
    EXPECT_EQ(calibration.origin().version, "1 abc");
    EXPECT_EQ(calibration.origin().date, "2026-12-01");
    ASSERT_EQ(calibration.tables().size(), 3U);
    const CalibratedTime time = calibration.lookup("prefill", values(512)).time.value();
    EXPECT_EQ(time.basis, Basis::measured);
    EXPECT_EQ(time.microseconds, 20.25);
    EXPECT_EQ(time.error_bar, 0.0625);
    EXPECT_EQ(calibration.lookup("prefill", values(0, "f32")).time.value().error_bar, 0.0);
    EXPECT_EQ(calibration.lookup("overhead", {{"rows", 1.0}}).time.value().microseconds, 3.5);
  }
}

TEST(OwnCalibration, BetweenPointsTheirSpreadCountsBesideTheDistance) {
  const CalibratedTime time = own().lookup("prefill", values(256)).time.value();
  EXPECT_EQ(time.basis, Basis::interpolated);
  EXPECT_DOUBLE_EQ(time.microseconds, (12.5 + 20.25) / 2);
  const double half_way = std::log(20.25 / 12.5) / 2;
  EXPECT_NEAR(time.error_bar, std::hypot(half_way, 0.0625), 1e-12);
}

TEST(OwnCalibration, HostileFilesAreRefusedInALine) {
  const std::string text = calibration_json(own()).dump();
  const std::string point = "field 'queries[0].tables[0].points[0]' ";
  const struct {
    std::string text, error;
  } cases[] = {
      {with(text, "0.02]", "-0.02]"), point + "has a spread out of range: -0.02"},
      {with(text, "0.02]", "1001]"), point + "has a spread out of range: 1001"},
      {with(text, "0.02]", "\"x\"]"), point + "holds something other than numbers"},
      {with(text, "0.02]", "0.02, 1]"), point + "is not an array of 3 or 4 numbers"},
      {with(text, R"({"source")", R"({"name": "other", "source")"),
       "field 'name' is not the file's name"},
      {with(text, "measured", "third-party"), "field 'name' is missing"},
      {R"({"device": {}, "rows": []})",
       "field 'calibration' is missing: nothing was measured that one holds"},
      {R"({"device": {}, "calibration": [1]})", "the file is not a JSON object"},
      {R"({"device": {}, "calibration": )" + std::string(64, '[') + std::string(64, ']') + "}", ""},
  };
  for (const auto& each : cases) {
    const WrittenFile file("mine.json", each.text);
    const std::string error = error_of([&] { Calibration::read(file.path()); });
    EXPECT_TRUE(error.starts_with(file.path().string() + ": " + each.error)) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(OwnCalibration, AFolderIsNamedByTheEnvironment) {
  const WrittenFile file("mine.json", bench_document());
  setenv("HEADWISE_CALIBRATION", file.folder().c_str(), 1);
  EXPECT_EQ(list_own_calibrations(), std::vector{file.path()});
  setenv("HEADWISE_CALIBRATION", file.path().c_str(), 1);
  EXPECT_EQ(error_of([] { list_own_calibrations(); }), file.path().string() + ": is not a folder");
  unsetenv("HEADWISE_CALIBRATION");
  EXPECT_TRUE(list_own_calibrations().empty());
}

}  // namespace
}  // namespace headwise
