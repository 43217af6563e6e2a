#include "cli/bench_model_command.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "advisor/device/calibration_json.h"
#include "bench/model_bench.h"
#include "cli/exit_status.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/usage.h"
#include "cli/whole_file.h"
#include "core/check.h"
#include "headwise/machine.h"

namespace headwise::cli {
namespace {

constexpr const char* kHelp =
    R"(Times the parts of a model's steps on this CPU as the engine runs them: attention of each layer group,
each matrix in the format that the file stores (the output matrix also as greedy decoding has it behind
its 64th token), and the rest of a layer. No prompt is computed: K and V of the contexts are random.
With --save it is a calibration, by which codesign says what the model takes at any context:

  headwise bench model model.gguf --save model.json
  headwise codesign model.gguf --hardware local-cpu --calibration model.json

Attention is of one type of K and V a run: --kv-type f8 serves codesign --kv-type f8.)";

struct Flags {
  std::string model;
  std::string longest;
  std::string chunk = "512";
  std::string kv_type;
  std::string save;
  int threads = 0;
  bool json = false;
};

std::int64_t size_option(const std::string& name, const std::string& text) {
  const std::vector<std::int64_t> sizes = sizes_option(name, text);
  if (sizes.size() > 1) throw CLI::ValidationError(name, "one number of tokens");
  return sizes.front();
}

std::string text_of(const AxisValue& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? fmt::format("{:g}", *number) : std::get<std::string>(value);
}

/// A line a point.
std::string table_text(const Calibration& calibration) {
  std::string text;
  for (const CalibrationTable& table : calibration.tables()) {
    text += table.query;
    for (const auto& [name, value] : table.fixed)
      text += fmt::format("  {} {}", name, text_of(value));
    text += "\n";
    for (const MeasuredPoint& point : table.grid.points()) {
      std::string at;
      for (std::size_t axis = 0; axis < point.at.size(); ++axis)
        at += fmt::format("  {} {:g}", table.grid.axes()[axis].name, point.at[axis]);
      text += fmt::format("{:<44} {:>12.1f} us  +- {:.1f} %\n", at, point.microseconds,
                          100.0 * point.spread);
    }
  }
  return text;
}

void run(const Flags& flags) {
  const int available = this_machine().cpu.threads;
  if (flags.threads > available)
    throw Error(ErrorCode::not_possible,
                concat("--threads ", flags.threads, ": this process may run on ", available));
  std::string command = "headwise bench model " + flags.model;
  if (!flags.kv_type.empty()) command += " --kv-type " + flags.kv_type;
  const bench::ModelBenchOptions options{
      .longest = flags.longest.empty() ? 0 : size_option("--longest", flags.longest),
      .chunk = size_option("--chunk", flags.chunk),
      .threads = flags.threads,
      .kv_type = flags.kv_type.empty() ? std::optional<DType>() : kv_type_option(flags.kv_type),
      .command = command,
      .progress = show_progress,
      .stop = interrupted};
  if (!flags.save.empty()) check_writable(flags.save);
  const Calibration calibration =
      unless_interrupted([&] { return bench::bench_model(flags.model, options); });
  clear_progress();
  const CpuInfo& cpu = this_machine().cpu;
  const nlohmann::ordered_json document{
      {"model", flags.model},
      {"device", {{"name", cpu.name}, {"instruction_sets", instruction_sets(cpu)}}},
      {"calibration", calibration_json(calibration)}};
  const std::string json = document_text(document);
  std::cout << (flags.json ? json : table_text(calibration)) << std::flush;
  if (!flags.save.empty()) write_whole(flags.save, json);
}

}  // namespace

void add_bench_model_command(CLI::App& bench) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = bench.add_subcommand(
      "model", "Time the parts of a model's steps on this CPU, for codesign to predict by");
  command->add_option("MODEL", flags->model, "a .gguf file or a Hugging Face folder")->required();
  command->add_option("--longest", flags->longest,
                      "context, in tokens; else the model's, at most 32k");
  command->add_option("--chunk", flags->chunk, "tokens of a prefill step")->capture_default_str();
  command
      ->add_option("--kv-type", flags->kv_type,
                   "K and V in the cache, as run has them: f32, f16, bf16, f8 or i8; if not "
                   "given, bf16, or f32 where products are f32")
      ->check(refuse_empty);
  command->add_option("--threads", flags->threads, "CPU threads; all that there are if not given")
      ->check(CLI::PositiveNumber);
  command->add_option("--save", flags->save, "write the JSON document to this file, too");
  command->add_flag("--json", flags->json, "one JSON document on standard output, no table");
  command->footer(kHelp);
  command->callback([flags] { run(*flags); });
}

}  // namespace headwise::cli
