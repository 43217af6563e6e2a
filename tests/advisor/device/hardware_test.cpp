#include "advisor/device/hardware.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "advisor/device/hardware_json.h"
#include "tests/advisor/device/written_file.h"
#include "tests/model/error_of.h"

namespace headwise {
namespace {

using Maybe = std::optional<double>;

/// A line of the published table, in its units; memory in bytes. Empty: a dash, or no figure.
struct Line {
  const char* name;
  double tb_s, memory;
  Maybe bf16, fp8, fp4, link, multiprocessors, exp, exp_up_to, l2_mib, shared_kib;
};

constexpr double kGiB = 1073741824.0, kGB = 1e9;
const Line kLines[] = {
    {"a100", 2.039, 80 * kGiB, 312, {}, {}, 300, 108, 2.4, {}, 40, 164},
    {"h100", 3.35, 80 * kGiB, 989, 1979, {}, 450, 132, 3.7, 4.2, 50, 228},
    {"h200", 4.8, 141 * kGiB, 989, 1979, {}, 450, 132, 3.7, 4.2, 50, 228},
    {"h20", 4.0, 96 * kGB, 148, 296, {}, 450, 78, 2.5, {}, 60, 228},
    {"b200", 7.7, 180 * kGiB, 2250, 4500, 9000, 900, 148, 4.4, 5, 126, 228},
    {"gb200", 8.0, 185 * kGiB, 2500, 5000, 10000, 900, 152, 5, {}, 126, 228},
    {"b300", 7.75, 268.6 * kGiB, 2250, 4500, 14000, 900, 148, 10.7, {}, 126, 228},
    {"gb300", 8.0, 277.5 * kGiB, 2500, 5000, 15000, 900, 152, 10.7, {}, 126, 228},
    {"rtx_4090", 1.008, 24 * kGB, 165, 330, {}, {}, 128, 5.2, {}, 72, 100},
    {"rtx_5090", 1.792, 31.4 * kGiB, 209, 419, 1676, {}, 170, 6.6, {}, 96, 100},
    {"l40s", 0.864, 45 * kGiB, 362, 733, {}, 32, 142, 5.7, {}, 96, 100},
    {"mi300x", 5.3, 192 * kGB, 1307, 2614, {}, 448, 304, {}, {}, 4, 64},
};

void expect_figure(const std::optional<Figure>& figure, const Maybe& wanted, double unit) {
  ASSERT_EQ(figure.has_value(), wanted.has_value());
  if (wanted) {
    EXPECT_DOUBLE_EQ(figure->value, *wanted * unit);
  }
}

TEST(Hardware, WhatIsWrittenIsReadBack) {
  for (const std::filesystem::path& file : list_hardware()) {
    SCOPED_TRACE(file);
    const Hardware hardware = read_hardware(file.string());
    const WrittenFile copy("copy.json", hardware_json(hardware, "copy").dump());
    const Hardware again = read_hardware(copy.path().string());
    EXPECT_EQ(again.system, hardware.name);
    EXPECT_EQ(again.title, hardware.title);
    EXPECT_EQ(hardware_json(again, "copy"), hardware_json(hardware, "copy"));
    EXPECT_DOUBLE_EQ(again.memory_bytes_per_s->value, hardware.memory_bytes_per_s->value);
  }
}

TEST(Hardware, FilesHoldThePublishedTable) {
  for (const Line& line : kLines) {
    SCOPED_TRACE(line.name);
    const Hardware h = read_hardware(line.name);
    EXPECT_EQ(h.kind, Hardware::Kind::gpu);
    expect_figure(h.memory_bytes_per_s, line.tb_s, 1e12);
    expect_figure(h.memory_bytes, line.memory, 1);
    expect_figure(h.bf16_flops, line.bf16, 1e12);
    expect_figure(h.fp8_flops, line.fp8, 1e12);
    expect_figure(h.fp4_flops, line.fp4, 1e12);
    expect_figure(h.link_bytes_per_s, line.link, 1e9);
    expect_figure(h.multiprocessors, line.multiprocessors, 1);
    expect_figure(h.exp_per_s, line.exp, 1e12);
    const Maybe up_to = h.exp_per_s ? h.exp_per_s->up_to : Maybe();
    EXPECT_EQ(up_to.value_or(0), line.exp_up_to.value_or(0) * 1e12);
    expect_figure(h.l2_bytes, line.l2_mib, 1048576);
    expect_figure(h.shared_memory_bytes, line.shared_kib, 1024);
  }
}

TEST(Hardware, SocketsHaveBandwidthAlone) {
  for (const auto& [name, gb_s] : {std::pair{"epyc_9005", 614.0}, std::pair{"xeon_6980p", 845.0}}) {
    SCOPED_TRACE(name);
    const Hardware h = read_hardware(name);
    EXPECT_EQ(h.kind, Hardware::Kind::cpu);
    expect_figure(h.memory_bytes_per_s, gb_s, 1e9);
    for (const auto& absent : {h.memory_bytes, h.bf16_flops, h.fp8_flops, h.fp4_flops,
                               h.link_bytes_per_s, h.multiprocessors, h.exp_per_s})
      EXPECT_FALSE(absent.has_value());
  }
}

TEST(Hardware, WhatIsNotThereIsToldFromWhatIsNotKnown) {
  EXPECT_TRUE(read_hardware("h200").has_no("fp4"));
  EXPECT_TRUE(read_hardware("a100").has_no("fp8"));
  EXPECT_TRUE(read_hardware("rtx_5090").has_no("link"));
  const Hardware mi300x = read_hardware("mi300x");
  EXPECT_FALSE(mi300x.exp_per_s);
  EXPECT_FALSE(mi300x.has_no("exp"));  // to be measured
  EXPECT_DOUBLE_EQ(mi300x.last_level_cache_bytes.value().value, 256 * 1048576.0);
}

TEST(Hardware, DisputedFiguresKeepBothSides) {
  const Hardware gb200 = read_hardware("gb200");
  ASSERT_EQ(gb200.bf16_flops->others.size(), 1U);
  EXPECT_DOUBLE_EQ(gb200.bf16_flops->others[0].value, 2250e12);
  EXPECT_DOUBLE_EQ(gb200.fp8_flops->others.at(0).value, 4500e12);
  EXPECT_DOUBLE_EQ(gb200.fp4_flops->others.at(0).value, 9000e12);
  EXPECT_DOUBLE_EQ(gb200.memory_bytes_per_s->others.at(0).value, 7.7e12);
  EXPECT_DOUBLE_EQ(read_hardware("l40s").l2_bytes->others.at(0).value, 48 * 1048576.0);
  EXPECT_DOUBLE_EQ(read_hardware("rtx_4090").fp8_flops->others.at(0).value, 661e12);
  EXPECT_DOUBLE_EQ(read_hardware("rtx_5090").fp8_flops->others.at(0).value, 838e12);
  EXPECT_DOUBLE_EQ(read_hardware("gb300").multiprocessors->others.at(0).value, 160);
}

TEST(Hardware, UnverifiedFiguresSaySo) {
  const auto source = [](const char* name, std::optional<Figure> Hardware::*figure) {
    return (read_hardware(name).*figure)->source;
  };
  EXPECT_EQ(source("h20", &Hardware::shared_memory_bytes), FigureSource::unverified);
  EXPECT_EQ(source("rtx_5090", &Hardware::bf16_flops), FigureSource::unverified);
  EXPECT_EQ(source("b300", &Hardware::l2_bytes), FigureSource::unverified);
  EXPECT_EQ(source("gb300", &Hardware::l2_bytes), FigureSource::unverified);
  for (const char* name : {"gb200", "gb300", "b300"})
    EXPECT_EQ(source(name, &Hardware::multiprocessors), FigureSource::unverified);
  EXPECT_EQ(source("rtx_5090", &Hardware::memory_bytes), FigureSource::measured_elsewhere);
  EXPECT_EQ(source("h200", &Hardware::exp_per_s), FigureSource::calculated);
  EXPECT_EQ(source("h200", &Hardware::bf16_flops), FigureSource::datasheet);
}

TEST(Hardware, EachShippedFileIsAmongTheCases) {
  EXPECT_EQ(list_hardware().size(), std::size(kLines) + 2);
  for (const std::filesystem::path& file : list_hardware())
    EXPECT_EQ(read_hardware(file).name, file.stem());
}

constexpr const char* kOwn = R"({"name": "own", "title": "An own one", "kind": "gpu",
  "memory_bandwidth": {"value": 2, "unit": "TB/s", "source": "datasheet"},
  "bf16": {"value": 100, "up_to": 120, "unit": "TFLOP/s", "source": "unverified",
           "others": [{"value": 90, "source": "calculated"}]}, "lacks": ["fp4"]})";

TEST(Hardware, UsersBringTheirOwn) {
  const WrittenFile own("own.json", kOwn);
  EXPECT_DOUBLE_EQ(read_hardware(own.path()).memory_bytes_per_s->value, 2e12);
  EXPECT_NE(error_of([] { read_hardware("own"); }), "");

  setenv("HEADWISE_HARDWARE", own.folder().c_str(), 1);
  EXPECT_EQ(read_hardware("own").file, own.path());
  EXPECT_EQ(read_hardware("h200").name, "h200");
  EXPECT_EQ(std::ranges::count(list_hardware(), own.path()), 1);
  setenv("HEADWISE_HARDWARE", "/nowhere", 1);
  EXPECT_EQ(error_of([] { list_hardware(); }), "/nowhere: is not a folder");
  unsetenv("HEADWISE_HARDWARE");
}

TEST(Hardware, AnOwnFileHidesAShippedOne) {
  const WrittenFile own("h200.json", with(kOwn, "\"own\"", "\"h200\""));
  setenv("HEADWISE_HARDWARE", own.folder().c_str(), 1);
  EXPECT_EQ(read_hardware("h200").title, "An own one");
  unsetenv("HEADWISE_HARDWARE");
}

TEST(Hardware, NamesAreKnownInCapitalsToo) { EXPECT_EQ(read_hardware("H200").name, "h200"); }

TEST(Hardware, UnknownNamesListTheKnownOnes) {
  const std::string error = error_of([] { read_hardware("h300"); });
  EXPECT_TRUE(error.starts_with("hardware 'h300' is unknown; there are a100, b200,")) << error;
  EXPECT_EQ(error_of([] { read_hardware("./x.json"); }), "./x.json: there is no such file");
  EXPECT_EQ(error_of([] { read_hardware("/tmp/"); }), "/tmp/: is not a regular file");
}

/// `from` of the own file made `to`, and what is said behind the path.
struct Fault {
  const char *from, *to, *error;
};
const Fault kFaults[] = {
    {R"("name": "own", )", "", "field 'name' is missing"},
    {R"("name": "own")", R"("name": "other")", "field 'name' is not the file's name"},
    {R"("An own one")", "7", "field 'title' is not a string"},
    {R"("gpu")", R"("tpu")", "field 'kind' is neither gpu nor cpu"},
    {R"("memory_bandwidth")", R"("bandwidth")", "field 'memory_bandwidth' is missing"},
    {R"({"value": 2, )", "{", "field 'memory_bandwidth.value' is missing"},
    {R"("value": 2)", R"("value": -2)", "field 'memory_bandwidth.value' is out of range: -2"},
    {R"("value": 2)", R"("value": 0)",
     "field 'memory_bandwidth.value' is out of range: 0 is not from 1e+09 to 1e+15"},
    {R"("value": 2)", R"("value": 4800)",
     "field 'memory_bandwidth.value' is out of range: 4.8e+15 is not from 1e+09 to 1e+15"},
    {R"("value": 2)", R"("value": "2")", "field 'memory_bandwidth.value' is not a number"},
    {R"("value": 2)", R"("value": 1e400)", "holds a number that is out of range (behind 'value')"},
    {R"("TB/s")", R"("TFLOP/s")", "field 'memory_bandwidth.unit' is none of GB/s, TB/s"},
    {R"("unit": "TB/s", )", "", "field 'memory_bandwidth.unit' is missing"},
    {R"(, "source": "datasheet")", "", "field 'memory_bandwidth.source' is missing"},
    {R"("datasheet")", R"("hearsay")",
     "field 'memory_bandwidth.source' is none of datasheet, measured, measured elsewhere, "
     "calculated, "
     "unverified"},
    {R"({"value": 2, "unit": "TB/s", "source": "datasheet"})", "2",
     "field 'memory_bandwidth' is not a JSON object"},
    {R"("up_to": 120)", R"("up_to": 90)", "field 'bf16.up_to' is not above the value"},
    {R"("up_to": 120)", R"("upto": 120)", "field 'bf16.upto' is not supported"},
    {R"([{"value": 90, "source": "calculated"}])", "3", "field 'bf16.others' is not an array"},
    {R"({"value": 90, )", "{", "field 'bf16.others[0].value' is missing"},
    {R"(["fp4"])", R"(["fp5"])", "field 'lacks' names something that is no field"},
    {R"(["fp4"])", R"(["bf16"])", "field 'lacks' names bf16, which is given"},
    {R"("lacks")", R"("lack")", "field 'lack' is not supported"},
    {R"("lacks")", R"("title")", "field 'title' appears twice"},
    {R"(["fp4"]})", R"(["fp4"])", "is not JSON at byte 291 (behind 'lacks')"},
};

TEST(Hardware, BrokenFilesAreRefusedInALine) {
  for (const Fault& fault : kFaults) {
    const WrittenFile file("own.json", with(kOwn, fault.from, fault.to));
    EXPECT_EQ(error_of([&] { read_hardware(file.path()); }),
              file.path().string() + ": " + fault.error);
  }
}

}  // namespace
}  // namespace headwise
