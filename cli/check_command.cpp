#include "cli/check_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "advisor/device/data_folders.h"
#include "advisor/engine_log/engine_findings.h"
#include "advisor/engine_log/engine_log.h"
#include "advisor/model/model_reader.h"
#include "cli/exit_status.h"
#include "cli/json_text.h"
#include "cli/usage.h"
#include "core/check.h"

namespace headwise::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHelp =
    R"(Reads the log of a vLLM, SGLang or TensorRT-LLM server and says whether what it runs suits the GPU: the
kernel's generation, 8-bit KV, page size, head dimension, KV heads against tensor parallelism. Each
finding has its reason and a source. What the log does not say is listed and never guessed; logs seldom
name the GPU, and never the heads: --gpu and --model tell them. Of several starts the last one counts.

Examples:
  headwise check --engine-log server.log --gpu H100
  docker logs vllm 2>&1 | headwise check --engine-log - --gpu H200 --model folder/config.json --json

Exit status: 0 whatever the verdict; with --strict 1 if it is "wrong" or "worse than possible". A log in
which no engine's start is recognised is an error, 1.)";

struct Flags {
  std::string log;
  std::string gpu;
  std::string model;
  bool json = false;
  bool strict = false;
};

EngineLog read_log(const std::string& name) {
  if (name == "-") return with_name("standard input", [] { return read_engine_log(std::cin); });
  std::error_code error;
  check(!std::filesystem::is_directory(name, error), name, ": is a folder");
  errno = 0;
  std::ifstream file(name, std::ios::binary);
  check(file.is_open(), name, ": ", std::strerror(errno));
  return with_name(name, [&] { return read_engine_log(file); });
}

ModelDescription read_model(const std::string& name) {
  constexpr std::size_t kMostBytes = 1 << 20;
  const std::filesystem::path path(name);
  std::error_code error;
  const bool folder = std::filesystem::is_directory(path, error);
  const std::string text = read_text(folder ? path / "config.json" : path, kMostBytes);
  return with_name(name, [&] { return read_model_description(text); });
}

Json logged_json(const LoggedValue& value) {
  return {{"value", value.value}, {"line", value.line}};
}

Json to_json(const std::string& name, const EngineLog& log, const EngineCheck& result) {
  Json facts = Json::object(), backends = Json::array(), findings = Json::array();
  Json others = Json::array();
  for (const auto& [topic, fact] : log.facts) facts[name_of(topic)] = logged_json(fact);
  for (const LoggedValue& backend : log.other_backends) backends.push_back(logged_json(backend));
  for (const ServingEngine other : log.other_engines) others.push_back(name_of(other));
  for (const Finding& finding : result.findings)
    findings.push_back({{"subject", finding.subject},
                        {"verdict", name_of(finding.verdict)},
                        {"statement", finding.statement},
                        {"reason", finding.reason},
                        {"source", finding.source.empty() ? Json(nullptr) : Json(finding.source)},
                        {"lines", finding.lines}});
  return {{"log", name},
          {"lines", log.lines},
          {"engine", name_of(log.engine)},
          {"starts", log.starts},
          {"start_line", log.start_line},
          {"earlier_engines", others},
          {"facts", facts},
          {"other_backends", backends},
          {"not_found", result.not_found},
          {"findings", findings},
          {"verdict", name_of(result.verdict)}};
}

std::string lines_of(const std::vector<std::int64_t>& lines) {
  std::string text;
  for (const std::int64_t line : lines) text += fmt::format("{}{}", text.empty() ? "" : ", ", line);
  return lines.size() == 1 ? "line " + text : "lines " + text;
}

std::string format_start(const EngineLog& log) {
  const LoggedValue* version = log.find(LogTopic::version);
  std::string text =
      fmt::format("engine: {}{}, started at line {} of {}", name_of(log.engine),
                  version != nullptr ? " " + version->value : "", log.start_line, log.lines);
  if (log.starts > 1) text += fmt::format(", the last of {} starts, which counts", log.starts);
  for (const ServingEngine other : log.other_engines)
    text += fmt::format("; an earlier start of {} does not", name_of(other));
  return text + "\n";
}

std::string format_facts(const EngineLog& log, const EngineCheck& result) {
  std::string text;
  for (const auto& [topic, fact] : log.facts)
    text += fmt::format("  {:<17} {:<40} line {}\n", name_of(topic), fact.value, fact.line);
  for (const LoggedValue& backend : log.other_backends)
    text += fmt::format("  {:<17} {:<40} line {}\n", "other backend", backend.value, backend.line);
  std::string missing;
  for (const std::string& name : result.not_found) missing += (missing.empty() ? "" : ", ") + name;
  if (!missing.empty()) text += fmt::format("not found: {}\n", missing);
  return text;
}

std::string format_findings(const EngineCheck& result) {
  std::string text;
  for (const Finding& finding : result.findings) {
    text += fmt::format("\n{:<20} {}: {} ({})\n", name_of(finding.verdict), finding.subject,
                        finding.statement, lines_of(finding.lines));
    text += fmt::format("{:<20} {}\n", "", finding.reason);
    if (!finding.source.empty()) text += fmt::format("{:<20} [{}]\n", "", finding.source);
  }
  return text + fmt::format("\nverdict: {}\n", name_of(result.verdict));
}

void run_check(const Flags& flags) {
  std::optional<ModelDescription> model;
  if (!flags.model.empty()) model = read_model(flags.model);
  const EngineLog log = read_log(flags.log);
  const EngineCheck result =
      check_engine(log, {.gpu = flags.gpu, .model = model ? &*model : nullptr});
  if (flags.json)
    fmt::print("{}", document_text(to_json(flags.log, log, result)));
  else
    fmt::print("{}{}{}", format_start(log), format_facts(log, result), format_findings(result));
  if (flags.strict && (result.verdict == Verdict::wrong || result.verdict == Verdict::worse))
    throw CLI::RuntimeError(kFailed);
}

}  // namespace

void add_check_command(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(
      "check", "Whether the attention backend that a serving engine logged suits its GPU");
  command
      ->add_option("--engine-log", flags->log,
                   "log of a vLLM, SGLang or TensorRT-LLM server; - is standard input")
      ->required();
  command->add_option("--gpu", flags->gpu, "the GPU it ran on, such as H100: instead of the log's");
  command->add_option("--model", flags->model, "the model's config.json, or the folder of it");
  for (const char* name : {"--engine-log", "--gpu", "--model"})
    command->get_option(name)->check(refuse_empty);
  command->add_flag("--json", flags->json, "one JSON document on standard output");
  command->add_flag("--strict", flags->strict,
                    "exit status 1 if the verdict is wrong, or worse than possible");
  command->footer(kHelp);
  command->callback([flags] { run_check(*flags); });
}

}  // namespace headwise::cli
