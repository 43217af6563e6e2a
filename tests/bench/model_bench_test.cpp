#include "bench/model_bench.h"

#include <gtest/gtest.h>

#include <set>

#include "bench/local_hardware.h"
#include "bench/stored_matrices.h"
#include "tests/advisor/device/written_file.h"
#include "tests/bench/bench_options.h"
#include "tests/engine/tiny_models.h"
#include "tests/model/error_of.h"

namespace headwise::bench {
namespace {

TinyModel with_context(TinyModel model) {
  model.context = 512;
  return model;
}

Calibration bench_of(const TinyModel& model, std::optional<DType> kv_type = {}) {
  const WrittenFile file("tiny.gguf", gguf_of(model));
  return bench_model(
      file.path(),
      {.chunk = 64, .threads = 1, .kv_type = kv_type, .repeats = 2, .command = "a test"});
}

/// Of all tables of attention.
std::set<std::string> kv_types(const Calibration& calibration) {
  std::set<std::string> types;
  for (const CalibrationTable& table : calibration.tables())
    if (table.query.starts_with("attention"))
      types.insert(std::get<std::string>(table.fixed.at("kv_type")));
  return types;
}

std::set<double> places(const Calibration& calibration, const std::string& query,
                        std::size_t axis) {
  std::set<double> places;
  for (const CalibrationTable& table : calibration.tables())
    if (table.query == query)
      for (const MeasuredPoint& point : table.grid.points()) places.insert(point.at[axis]);
  return places;
}

TEST(ModelBench, HasEachPartOfAModel) {
  const Calibration calibration = bench_of(with_context(gemma3_model()));
  EXPECT_EQ(calibration.origin().source, Calibration::Source::measured);
  EXPECT_EQ(places(calibration, "attention_prefill", 1), (std::set<double>{0, 192, 384, 448}));
  EXPECT_EQ(places(calibration, "attention_prefill", 2), (std::set<double>{4, 16, 64}));
  EXPECT_EQ(places(calibration, "attention_decode", 1), (std::set<double>{193, 385, 449, 512}));
  EXPECT_EQ(places(calibration, "layer_overhead", 0), (std::set<double>{1, 4, 16, 64}));
  std::set<double> windows;
  for (const CalibrationTable& table : calibration.tables())
    if (table.query == "attention_decode")
      windows.insert(std::get<double>(table.fixed.at("window")));
  EXPECT_EQ(windows, (std::set<double>{0, 5}));
  // qkv of 4 + 2 + 2 heads of 8, gate and up, what is as wide as the model, and the vocabulary.
  EXPECT_EQ(places(calibration, "gemm", 0), (std::set<double>{64, 56, 20, 263}));
}

TEST(ModelBench, IsOfTheTypeOfKAndVThatIsAskedFor) {
  const TinyModel model = with_context(llama_model());
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::i8})
    EXPECT_EQ(kv_types(bench_of(model, type)), std::set<std::string>{std::string(name_of(type))});
  const std::set<std::string> usual = kv_types(bench_of(model));
  EXPECT_TRUE(usual == std::set<std::string>{"bf16"} || usual == std::set<std::string>{"f32"});
}

TEST(ModelBench, SaysWhatCannotBe) {
  const WrittenFile file("tiny.gguf", gguf_of(llama_model()));
  EXPECT_EQ(error_of([&] { bench_model(file.path(), {}); }), "a context of 80 tokens is too short");
  const WrittenFile longer("tiny.gguf", gguf_of(with_context(llama_model())));
  EXPECT_EQ(error_of([&] { bench_model(longer.path(), {.stop = [] { return true; }}); }),
            "stopped before all was measured");
}

TEST(StoredMatrices, NameTheBlocksOfAFile) {
  const WrittenFile file("tiny.gguf", gguf_of(quantised_model()));
  const StoredMatrices stored = stored_matrices(ModelFile(file.path())).value();
  EXPECT_EQ(stored.gate_up.name, "q4_1");
  EXPECT_DOUBLE_EQ(stored.gate_up.bytes_per_weight, 20.0 / 32.0);
  const WrittenFile plain("tiny.gguf", gguf_of(llama_model()));
  EXPECT_EQ(stored_matrices(ModelFile(plain.path()))->qkv.name, "f32");
}

TEST(LocalHardware, IsMeasuredOnThisMachine) {
  Machine machine = this_machine();
  machine.gpus.clear();
  std::vector<std::string> said;
  const Hardware hardware = local_hardware(
      machine, {.probes = short_options().probes,
                .threads = 1,
                .progress = [&](std::string_view line) { said.emplace_back(line); }});
  EXPECT_EQ(hardware.kind, Hardware::Kind::cpu);
  EXPECT_FALSE(said.empty());
  for (const std::optional<Figure>& figure :
       {hardware.memory_bytes_per_s, hardware.f32_flops, hardware.bf16_flops}) {
    ASSERT_TRUE(figure.has_value());
    EXPECT_EQ(figure->source, FigureSource::measured);
    EXPECT_GT(figure->value, 1e8);
  }
  EXPECT_TRUE(hardware.system.ends_with("_1_thread")) << hardware.system;
}

}  // namespace
}  // namespace headwise::bench
