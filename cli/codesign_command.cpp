#include "cli/codesign_command.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "advisor/device/hardware_json.h"
#include "advisor/report/codesign_json.h"
#include "advisor/report/html_report.h"
#include "advisor/time/device_times.h"
#include "cli/codesign_question.h"
#include "cli/json_text.h"
#include "cli/usage.h"
#include "cli/whole_file.h"

namespace headwise::cli {
namespace {

constexpr const char* kHelp =
    R"(How long a model's steps take on a device, part by part, and how much of it is attention. No weights
are read: a config.json will do, of any decoder-only model that docs/codesign.md lists.

Each time says where it comes from. "measured", "interpolated" and "extrapolated": from measurements of
your own; "third-party ...": from the public tables that come with Headwise (docs/calibration.md);
"assumed": the device's rates times what kernels usually reach of them. +- is the error to reckon with.

attention   the core's part of what layers compute: not projections, output matrix or communication
batch       the most requests of that context that fit in memory at once, and tok/s what they give
--weights   bf16, fp8, fp8_block, nvfp4: feed-forward and, without --projections, attention's too
--gpus      without it as few as hold the model. Experts: each GPU attends to requests of its own and all
            share the experts; else heads are split. All plans of so many are compared: docs/plans.md
--plan      widths of one plan: tp8, tp8ep8, adp8ep8, tp2kvp4, tp4pp2
--workload  conversations with their targets: docs/workloads.md
--prefix    tokens of each context that are cached already
--sweep     kv_heads, group_size, head_dim, window, full_every, kv_type or mla_rank (docs/guidelines.md)

Own measurements come before the tables: those of --calibration, and of the folder HEADWISE_CALIBRATION.

Examples:
  headwise codesign config.json --hardware h200
  headwise codesign DeepSeek-R1/config.json --hardware gb200 --gpus 8 --weights nvfp4 --projections bf16
  headwise codesign config.json --sweep kv_heads=1,2,4,8 --sweep window=512,4k,full --html report.html
  headwise codesign llama-70b/config.json --gpus 8 --workload coding-agent --concurrency 32
  headwise codesign model.gguf --hardware rtx_4090 --contexts 4k,32k --kv-type f8 --json)";

void check_hardware_file(const CodesignFlags& flags) {
  if (flags.hardware != kLocal && flags.hardware != kLocalCpu)
    throw CLI::ValidationError("--save-hardware", "it saves what --hardware local measures");
  if (std::filesystem::path(flags.save_hardware).extension() != ".json")
    throw CLI::ValidationError("--save-hardware", "a file that ends in .json");
  check_writable(flags.save_hardware);
}

void save_hardware(const Hardware& hardware, const std::string& path) {
  const std::filesystem::path file(path);
  write_whole(path, document_text(hardware_json(hardware, file.stem())));
}

void advise(const CodesignFlags& flags) {
  if (!flags.save_hardware.empty()) check_hardware_file(flags);
  const DescribedModel model = describe_model(flags.model);
  CodesignInput hardware_input;
  const Hardware hardware = asked_hardware(flags.hardware, hardware_input);
  if (!flags.save_hardware.empty()) save_hardware(hardware, flags.save_hardware);
  CodesignInput calibration_input;
  std::vector<Calibration> own = own_calibrations(flags.calibrations, hardware, calibration_input);
  CodesignQuestion question = read_question(flags, model, hardware);
  question.inputs.insert(question.inputs.begin(), {hardware_input, calibration_input});
  constexpr double kBytesPerGigabyte = 1e9;
  const DeviceTimes times =
      device_times(hardware, flags.framework,
                   flags.link > 0.0 ? std::optional(flags.link * kBytesPerGigabyte) : std::nullopt,
                   std::move(own));
  const CodesignReport report = codesign(question, times);
  const nlohmann::ordered_json document = codesign_json(question, report, times);
  if (!flags.html.empty()) write_whole(flags.html, html_report(document));
  std::cout << (flags.json ? document_text(document) : codesign_text(question, report, hardware))
            << std::flush;
  if (!flags.html.empty())
    std::cerr << "the report is in " << std::filesystem::absolute(flags.html).string() << "\n";
}

void add_options(CLI::App& command, CodesignFlags& flags) {
  command.add_option("MODEL", flags.model, "a config.json, a folder that has one, or a .gguf file")
      ->required();
  command.add_option(
      "--hardware", flags.hardware,
      "a device that docs/hardware.md describes, a file, or local: measured now; else the "
      "GPU at hand");
  command.add_option("--save-hardware", flags.save_hardware,
                     "write what --hardware local measured to this file, for --hardware");
  command.add_option("--calibration", flags.calibrations,
                     "own measurements, by bench --save: one file or more");
  command.add_option("--contexts", flags.contexts,
                     "tokens, such as 4k,32k (k and m are 1024s); else 4k to 128k");
  command.add_option("--weights", flags.weights, "see below; else the file's, or bf16");
  command.add_option("--projections", flags.projections, "attention's weights (see below)");
  command.add_option("--kv-type", flags.kv_type, "K and V: bf16, f16, f32, f8 or i8; else bf16");
  command.add_option("--q-type", flags.q_type, "attention's products: bf16 or f8; else bf16");
  command.add_option("--gpus", flags.gpus, "devices (see below)")->check(CLI::Range(1, 1024));
  command.add_option("--plan", flags.plan, "how the model is spread (see below)");
  command
      .add_option("--balance", flags.balance,
                  "requests of the mean attention group beside the fullest's; else 1")
      ->check(CLI::Range(0.01, 1.0));
  command.add_option("--shared-experts", flags.shared_experts,
                     "beside or after the routed ones in decode; else as the framework has it");
  command.add_option("--link", flags.link, "GB/s between devices, one direction")
      ->check(CLI::Range(0.01, 100000.0));
  command.add_option("--framework", flags.framework,
                     "whose measurements: trtllm, vllm, sglang; else trtllm");
  command.add_option("--batch", flags.batch, "requests of a decode step; else one a group")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--chunk", flags.chunk, "tokens of a prefill step; else 8k");
  command.add_option("--routing", flags.routing,
                     "of experts: balanced, power_law_1.01, power_law_1.2; else balanced");
  command.add_option("--page", flags.page, "tokens of a page of the cache; else 64")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--prefix", flags.prefix, "cached tokens (see below)");
  command
      .add_option("--reserve", flags.reserve,
                  "share of memory that is neither weights nor KV; else 0.1")
      ->check(CLI::Range(0.0, 0.95));
  command
      .add_option("--sweep", flags.sweeps,
                  "what if kv_heads=1,2,4,8? May be given several times (see below)")
      ->allow_extra_args(false);
  command.add_option("--sweep-context", flags.sweep_context,
                     "tokens; else the longest of --contexts");
  command.add_option("--html", flags.html, "writes the report as a page to this file");
  add_workload_options(command, flags.workload);
  for (const char* name :
       {"MODEL", "--calibration", "--plan", "--shared-experts", "--hardware", "--save-hardware",
        "--contexts", "--weights", "--projections", "--kv-type", "--q-type", "--framework",
        "--chunk", "--routing", "--prefix", "--sweep", "--sweep-context", "--html"})
    command.get_option(name)->check(refuse_empty);
  command.add_flag("--json", flags.json, "one JSON document on standard output");
}

}  // namespace

void add_codesign_command(CLI::App& app) {
  const auto flags = std::make_shared<CodesignFlags>();
  CLI::App* command = app.add_subcommand(
      "codesign", "How long a model's steps take on a device, and how much of it is attention");
  add_options(*command, *flags);
  command->footer(kHelp);
  command->callback([flags] { advise(*flags); });
}

}  // namespace headwise::cli
