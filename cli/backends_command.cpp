#include "cli/backends_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention/shape_spec.h"
#include "bench/free_memory.h"
#include "bench/workload.h"
#include "cli/json_text.h"
#include "cli/usage.h"
#include "headwise/error.h"
#include "headwise/registry.h"
#include "headwise/version.h"

namespace headwise::cli {
namespace {

using bench::Suite;
using Json = nlohmann::ordered_json;

constexpr const char* kExamples = R"(Examples:
  headwise backends
  headwise backends --shape q32:kv8:d128:w4096:i8
  headwise backends --json

Answers are for steps with 4096 tokens of context: a prompt of 4096, 64 new tokens behind a cache, one
new token, and a prompt beside a decode. HEADWISE_BACKEND forces a backend, as --backend of the other
commands does.)";

constexpr std::array<Suite, 4> kPhases{Suite::prefill, Suite::append, Suite::decode, Suite::mixed};

struct Flags {
  std::string shape = "q32:kv8:d128";
  bool json = false;
};

/// What one backend says of one phase.
struct Answer {
  std::string phase;
  Support support;
};

struct BackendAnswers {
  const Backend* backend;
  std::vector<int> page_sizes;
  std::vector<Answer> answers;
};

/// The backend that would run a phase, or why none would.
struct Chosen {
  std::string phase;
  std::string backend;
  std::string why_not;
};

struct Survey {
  std::vector<BackendAnswers> backends;
  std::vector<Chosen> chosen;
};

Problem problem_for(Suite phase, const ShapeSpec& spec, int page_size) {
  const bench::Workload workload = bench::make_workloads(phase, {}).front();
  StepBatch step = workload.lengths();
  step.tables.page_size = page_size;
  step.out.dtype = spec.shape.out_type();
  return problem_of(spec.shape, step);
}

Chosen choose(const Registry& registry, const Problem& problem, std::string phase) {
  Chosen chosen{.phase = std::move(phase), .backend = {}, .why_not = {}};
  try {
    chosen.backend = registry.choose(problem, this_machine(), forced_backend()).backend->name();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_possible) throw;
    chosen.why_not = error.what();
  }
  return chosen;
}

Survey survey(const Registry& registry, const ShapeSpec& spec) {
  Survey found;
  for (const Backend* backend : registry.backends()) {
    BackendAnswers answers{backend, backend->preferred_page_sizes(spec.shape), {}};
    const int page_size = spec.page_size > 0 ? spec.page_size : answers.page_sizes.front();
    for (const Suite phase : kPhases)
      answers.answers.push_back(
          {std::string(name_of(phase)),
           backend->explain(problem_for(phase, spec, page_size), this_machine())});
    found.backends.push_back(std::move(answers));
  }
  constexpr int kAnyPage = 16;
  for (const Suite phase : kPhases)
    found.chosen.push_back(
        choose(registry, problem_for(phase, spec, spec.page_size > 0 ? spec.page_size : kAnyPage),
               std::string(name_of(phase))));
  return found;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json gpus_json(const Machine& machine) {
  Json gpus = Json::array();
  for (const GpuInfo& gpu : machine.gpus)
    gpus.push_back({{"name", gpu.name},
                    {"compute_capability", gpu.compute_capability},
                    {"multiprocessors", gpu.multiprocessors},
                    {"memory_bytes", gpu.memory_bytes},
                    {"memory_bytes_per_second", gpu.memory_bytes_per_second},
                    {"l2_bytes", gpu.l2_bytes},
                    {"shared_memory_per_block", gpu.shared_memory_per_block}});
  return gpus;
}

Json to_json(const Survey& found, const ShapeSpec& spec) {
  const CpuInfo& cpu = this_machine().cpu;
  Json backends = Json::array();
  for (const BackendAnswers& entry : found.backends) {
    Json phases = Json::object();
    for (const auto& [phase, support] : entry.answers)
      phases[phase] = {{"possible", static_cast<bool>(support)},
                       {"row", text_or_null(support.row)},
                       {"why_not", text_or_null(support.why_not)},
                       {"remark", text_or_null(support.remark)}};
    backends.push_back(
        {{"name", entry.backend->name()},
         {"device", entry.backend->device_type() == DeviceType::cpu ? "cpu" : "cuda"},
         {"page_sizes", entry.page_sizes},
         {"phases", phases}});
  }
  Json chosen = Json::object();
  for (const Chosen& entry : found.chosen)
    chosen[entry.phase] = {{"backend", text_or_null(entry.backend)},
                           {"why_not", text_or_null(entry.why_not)}};
  return {{"machine",
           {{"name", cpu.name},
            {"instruction_sets", instruction_sets(cpu)},
            {"threads", cpu.threads},
            {"memory_bytes", cpu.memory_bytes},
            {"last_cache_bytes", cpu.last_cache_bytes}}},
          {"gpus", gpus_json(this_machine())},
          {"no_gpu", text_or_null(this_machine().no_gpu)},
          {"cuda_architectures", cuda_architectures()},
          {"shape", to_string(spec)},
          {"backends", backends},
          {"chosen", chosen}};
}

std::string format_gpus(const Machine& machine) {
  if (machine.gpus.empty()) return fmt::format("GPUs: none: {}\n", machine.no_gpu);
  std::string text;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i)
    text += fmt::format(
        "cuda:{}: {}, {} memory, {} shared memory a block\n", i, to_string(machine.gpus[i]),
        bench::format_bytes(static_cast<double>(machine.gpus[i].memory_bytes)),
        bench::format_bytes(static_cast<double>(machine.gpus[i].shared_memory_per_block)));
  return text;
}

std::string format_answer(const Support& support) {
  if (!support) return "no: " + support.why_not;
  return support.row + (support.remark.empty() ? "" : ", " + support.remark);
}

/// Phases with the same answer share a line.
std::string format_answers(const std::vector<Answer>& answers) {
  std::vector<std::pair<std::string, std::string>> lines;  // answer, phases
  for (const Answer& answer : answers) {
    const std::string text = format_answer(answer.support);
    auto line = lines.begin();
    while (line != lines.end() && line->first != text) ++line;
    if (line == lines.end())
      lines.emplace_back(text, answer.phase);
    else
      line->second += ", " + answer.phase;
  }
  std::string text;
  for (const auto& [answer, phases] : lines)
    text += fmt::format("    {}: {}\n", lines.size() == 1 ? "every phase" : phases, answer);
  return text;
}

std::string format(const Survey& found, const ShapeSpec& spec) {
  const CpuInfo& cpu = this_machine().cpu;
  std::string text = fmt::format("machine: {} ({}), {} threads, {} memory, last cache {}\n",
                                 cpu.name, instruction_sets(cpu), cpu.threads,
                                 bench::format_bytes(static_cast<double>(cpu.memory_bytes)),
                                 bench::format_bytes(static_cast<double>(cpu.last_cache_bytes)));
  text += format_gpus(this_machine());
  text += fmt::format("CUDA architectures: {}\nshape: {}\n", cuda_architectures(), to_string(spec));
  for (const BackendAnswers& entry : found.backends)
    text += fmt::format("\n{} (pages of {})\n{}", entry.backend->name(),
                        fmt::join(entry.page_sizes, ", "), format_answers(entry.answers));
  text += "\nwould run:\n";
  for (const Chosen& entry : found.chosen)
    text += fmt::format("    {}: {}\n", entry.phase,
                        entry.backend.empty() ? "none: " + entry.why_not : entry.backend);
  return text;
}

void run(const Flags& flags) {
  const ShapeSpec spec = shape_option(flags.shape);
  const Survey found = survey(Registry::builtin(), spec);
  std::cout << (flags.json ? document_text(to_json(found, spec)) : format(found, spec));
}

}  // namespace

void add_backends_command(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("backends", "Every backend: what it can do on this machine, and why not");
  command->add_option("--shape", flags->shape, kShapeHelp)->capture_default_str();
  command->add_flag("--json", flags->json, "one JSON document on standard output");
  command->footer(kExamples);
  command->callback([flags] { run(*flags); });
}

}  // namespace headwise::cli
