#include "advisor/device/calibration.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/advisor/device/written_file.h"
#include "tests/model/error_of.h"

namespace headwise {
namespace {

constexpr const char* kText = R"({"name": "cal", "source": "third-party", "system": "toy",
"framework": "none", "version": "1", "date": "2026-01-02", "origin": "a test", "licence": "MIT",
"queries": [{"query": "decode",
  "axes": [{"name": "batch", "unit": "requests", "scale": "log"},
           {"name": "past", "unit": "tokens", "scale": "linear"}],
  "tables": [{"fixed": {"type": "bf16", "dim": 64}, "points": [[1, 0, 5], [1, 100, 15], [2, 0, 10], [2, 100, 30]]},
             {"fixed": {"type": "bf16", "dim": 128}, "points": [[1, 0, 7]]},
             {"fixed": {"type": "f8e4m3", "dim": 64}, "points": [[1, 0, 4]]}]}]})";

Calibration toy() { return Calibration::read(WrittenFile("cal.json", kText).path()); }

AxisValues values(double batch, double past, double dim = 64, const char* type = "bf16") {
  return {{"batch", batch}, {"past", past}, {"dim", dim}, {"type", type}};
}

TEST(Calibration, OriginIsKept) {
  const WrittenFile file("cal.json", kText);
  const Calibration::Origin origin = Calibration::read(file.path()).origin();
  EXPECT_EQ(origin.source, Calibration::Source::third_party);
  EXPECT_EQ(origin.system, "toy");
  EXPECT_EQ(origin.licence, "MIT");
  EXPECT_EQ(origin.file, file.path());
}

TEST(Calibration, MeasuredPlacesAreExact) {
  const CalibrationAnswer answer = toy().lookup("decode", values(2, 100));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer.time->basis, Basis::measured);
  EXPECT_EQ(answer.time->microseconds, 30);
  EXPECT_EQ(answer.time->error_bar, 0);
  EXPECT_EQ(answer.time->file.filename(), "cal.json");
  EXPECT_EQ(toy().lookup("decode", values(1, 0, 128)).time.value().microseconds, 7);
  EXPECT_EQ(toy().lookup("decode", values(1, 0, 64, "f8e4m3")).time.value().microseconds, 4);
}

TEST(Calibration, InsideIsInterpolatedAndNamesItsPoints) {
  const CalibrationAnswer answer = toy().lookup("decode", values(std::sqrt(2.0), 50));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer.time->basis, Basis::interpolated);
  EXPECT_NEAR(answer.time->microseconds, std::sqrt(10.0 * 20), 1e-9);
  EXPECT_EQ(answer.time->points.size(), 4U);
  EXPECT_EQ(answer.time->axes.at(1).name, "past");
}

TEST(Calibration, OutsideTheCallersLawSeesAllValues) {
  const ScalingLaw law = [](const AxisValues& at) {
    EXPECT_EQ(std::get<std::string>(at.at("type")), "bf16");
    return std::get<double>(at.at("batch"));
  };
  const CalibrationAnswer answer = toy().lookup("decode", values(8, 100), law);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer.time->basis, Basis::extrapolated);
  EXPECT_DOUBLE_EQ(answer.time->microseconds, 120);
}

/// A query without data, and the reason behind "cal has no decode: ".
struct Absence {
  AxisValues values;
  const char* reason;
};

AxisValues without(AxisValues values, const char* name) {
  values.erase(name);
  return values;
}

AxisValues and_also(AxisValues values, const char* name, AxisValue value) {
  values[name] = std::move(value);
  return values;
}

TEST(Calibration, WhatWasNotMeasuredIsAbsentWithAReason) {
  const Absence cases[] = {
      {values(1, 0, 96), "dim is 96, measured are 64, 128"},
      {values(1, 0, 64, "f16"), "type is f16, measured are bf16, f8e4m3"},
      {values(1, 0, 128, "f8e4m3"), "type is f8e4m3, measured are bf16"},
      {values(1, 0, 96, "f16"),
       "dim is 96, measured are 64, 128; type is f16, measured are bf16, f8e4m3"},
      {without(values(1, 0), "dim"), "dim is not given"},
      {without(values(1, 0), "batch"), "batch is not given"},
      {and_also(values(1, 0), "window", 128.0), "window is nothing that was told apart"},
      {and_also(values(1, 0), "batch", "one"), "batch is one"},
      {values(0, 0), "batch is 0"},
      {values(-1, 0), "batch is -1"},
      {values(std::nan(""), 0), "batch is nan"},
      {values(4, 0),
       "batch 4 is outside of what was measured (the nearest is 2), and no scaling law is given"},
      {values(1, 200),
       "past 200 is outside of what was measured (the nearest is 100), and no scaling law is "
       "given"},
  };
  for (const Absence& absence : cases) {
    const CalibrationAnswer answer = toy().lookup("decode", absence.values);
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.why_not, std::string("cal has no decode: ") + absence.reason);
  }
  EXPECT_EQ(toy().lookup("prefill", values(1, 0)).why_not,
            "cal has no prefill: nothing of the kind was measured");
}

/// `from` of the file made `to`, and what is said behind the path.
struct Fault {
  const char *from, *to, *error;
};
const Fault kFaults[] = {
    {R"("name": "cal")", R"("name": "other")", "field 'name' is not the file's name"},
    {R"("third-party")", R"("guessed")", "field 'source' is neither measured nor third-party"},
    {R"("system": "toy",)", "", "field 'system' is missing"},
    {R"("version": "1")", R"("version": 1)", "field 'version' is not a string"},
    {R"(, "licence": "MIT")", "", "field 'licence' is missing"},
    {R"("date")", R"("day")", "field 'date' is missing"},
    {R"("licence")", R"("author": "x", "licence")", "field 'author' is not supported"},
    {R"("queries": [{)", R"("queries": [], "x": [{)",
     "field 'queries' is not an array with something in it"},
    {R"("queries": [{)", R"("queries": [7, {)", "field 'queries[0]' is not a JSON object"},
    {R"("query": "decode")", R"("query": 3)", "field 'queries[0].query' is not a string"},
    {R"("scale": "log")", R"("scale": "cubic")",
     "field 'queries[0].axes[0].scale' is neither log nor linear"},
    {R"("unit": "tokens", )", "", "field 'queries[0].axes[1].unit' is missing"},
    {R"("name": "past")", R"("name": "batch")", "field 'queries[0].axes[1].name' appears twice"},
    {R"("dim": 64)", R"("batch": 64)", "field 'queries[0].tables[0].fixed.batch' is an axis, too"},
    {R"("dim": 64)", R"("dim": [64])",
     "field 'queries[0].tables[0].fixed.dim' is neither a number nor a string"},
    {R"("dim": 128)", R"("dims": 128)",
     "field 'queries[0].tables[1].fixed' has other names than the table before it"},
    {R"("dim": 128)", R"("dim": 64)", "field 'queries[0].tables[1].fixed' repeats another table's"},
    {R"([1, 0, 5])", R"([1, 5])",
     "field 'queries[0].tables[0].points[0]' is not an array of 3 or 4 numbers"},
    {R"([1, 100, 15])", R"([1, 100, "15"])",
     "field 'queries[0].tables[0].points[1]' holds something other than numbers"},
    {R"([1, 0, 5])", R"([1, 0, 0])",
     "field 'queries[0].tables[0].points[0]' has a time out of range: 0"},
    {R"([1, 0, 5])", R"([1, 0, -5])",
     "field 'queries[0].tables[0].points[0]' has a time out of range: -5"},
    {R"([1, 0, 5])", R"([1, 0, 1e11])",
     "field 'queries[0].tables[0].points[0]' has a time out of range: 1e+11"},
    {R"([1, 0, 5])", R"([0, 0, 5])",
     "field 'queries[0].tables[0].points[0]' has its batch out of range: 0"},
    {R"([1, 0, 5])", R"([1, -1, 5])",
     "field 'queries[0].tables[0].points[0]' has its past out of range: -1"},
    {R"([2, 0, 10])", R"([1, 0, 10])",
     "field 'queries[0].tables[0].points': holds two points at one place"},
    {R"([[1, 0, 7]])", "[]",
     "field 'queries[0].tables[1].points' is not an array with something in it"},
    {R"([[1, 0, 7]])", R"([[1, 0, 1e999]])",
     "holds a number that is out of range (behind 'points')"},
    {R"({"name": "cal")", R"([{"name": "cal")", "is not JSON at byte 595 (behind 'points')"},
};

TEST(Calibration, BrokenFilesAreRefusedInALine) {
  for (const Fault& fault : kFaults) {
    const WrittenFile file("cal.json", with(kText, fault.from, fault.to));
    EXPECT_EQ(error_of([&] { Calibration::read(file.path()); }),
              file.path().string() + ": " + fault.error);
  }
}

TEST(Calibration, AQueryComesOnce) {
  std::string twice = with(kText, R"("queries": [)", R"("queries": [{"query": "decode",
    "axes": [{"name": "x", "unit": "y", "scale": "log"}], "tables": [{"fixed": {}, "points": [[1, 2]]}]}, )");
  const WrittenFile file("cal.json", twice);
  EXPECT_EQ(error_of([&] { Calibration::read(file.path()); }),
            file.path().string() + ": field 'queries[1].query' appears twice");
}

Calibration shipped(const std::string& name) {
  for (const std::filesystem::path& file : list_calibrations())
    if (file.stem() == name) return Calibration::read(file);
  ADD_FAILURE() << name << " is not there";
  return toy();
}

TEST(Calibration, ShippedFilesAreWellFormedAndSayWhoseTheyAre) {
  EXPECT_GE(list_calibrations().size(), 5U);
  for (const std::filesystem::path& file : list_calibrations()) {
    const Calibration::Origin origin = Calibration::read(file).origin();
    EXPECT_EQ(origin.source, Calibration::Source::third_party) << file;
    EXPECT_EQ(origin.licence, "Apache-2.0") << file;
    EXPECT_FALSE(origin.origin.empty()) << file;
  }
}

/// What others read out of the same tables, in whole microseconds.
TEST(Calibration, ShippedTimesAreThePublishedOnes) {
  const auto decode = [](const Calibration& calibration, double kv_heads) {
    const AxisValues values{{"q_type", "bf16"},     {"kv_type", "bf16"}, {"q_heads", 32.0},
                            {"kv_heads", kv_heads}, {"head_dim", 128.0}, {"window", 0.0},
                            {"batch", 32.0},        {"kv_len", 16384.0}};
    return calibration.lookup("attention_decode", values).time.value().microseconds;
  };
  const Calibration h200 = shipped("h200-trtllm"), b200 = shipped("b200-trtllm");
  const std::array<std::array<double, 3>, 4> rows{
      {{8, 493, 304}, {4, 263, 158}, {2, 148, 86}, {1, 112, 52}}};
  for (const auto& [kv_heads, on_h200, on_b200] : rows) {
    EXPECT_NEAR(decode(h200, kv_heads), on_h200, 0.5);
    EXPECT_NEAR(decode(b200, kv_heads), on_b200, 0.5);
  }
}

TEST(Calibration, ShippedMlaTimesAreThePublishedOnes) {
  const auto decode = [](const char* name, double batch, double q_heads, const char* kv_type) {
    const AxisValues values{{"q_type", "bf16"},     {"kv_type", kv_type},  {"q_heads", q_heads},
                            {"head_dim_qk", 576.0}, {"head_dim_v", 512.0}, {"batch", batch},
                            {"kv_len", 16384.0}};
    return shipped(name).lookup("mla_decode", values).time.value().microseconds;
  };
  EXPECT_NEAR(decode("h200-trtllm", 64, 16, "bf16"), 294, 0.5);
  EXPECT_NEAR(decode("h200-trtllm", 8, 128, "bf16"), 77, 0.5);
  EXPECT_NEAR(decode("h200-trtllm", 8, 128, "f8e4m3"), 69, 0.5);
  EXPECT_NEAR(decode("b200-trtllm", 8, 128, "bf16"), 46, 0.5);
}

}  // namespace
}  // namespace headwise
