#include "cli/run_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/exit_status.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/usage.h"
#include "core/check.h"
#include "engine/runner.h"
#include "headwise/machine.h"
#include "headwise/registry.h"

namespace headwise::cli {
namespace {

struct Flags {
  std::string model;
  std::string prompt_file;
  std::string max_new = "256";
  std::string chunk = "512";
  bool json = false;
  GenerateOptions generate;
};

constexpr const char* kHelp =
    R"(Decoding is greedy. Ctrl-C ends the run after its step, with the text and the numbers that there
are; the exit status is then 130. With --check it is 1 where a row is out of its bound.

Examples:
  headwise run model.gguf --prompt "What is attention?"
  headwise run model.gguf --prompt-file question.txt --max-new 64 --json)";

std::int64_t size_option(const std::string& name, const std::string& text) {
  const std::vector<std::int64_t> sizes = sizes_option(name, text);
  if (sizes.size() != 1) throw CLI::ValidationError(name, "takes one size, not " + text);
  return sizes.front();
}

std::string read_prompt(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return std::move(text).str();
  }
  std::ifstream file(path, std::ios::binary);
  // A folder can be opened, but its first byte cannot be read.
  if (file.is_open() && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  check(file.is_open() && !file.bad(), path, ": ", std::strerror(errno));
  return std::move(text).str();
}

GenerateEvents events_of(const Flags& flags) {
  GenerateEvents events;
  events.stop = interrupted;
  events.prefill = [](std::int64_t done, std::int64_t total) {
    if (done < total) return show_progress(fmt::format("prompt: {} of {} tokens", done, total));
    clear_progress();
  };
  if (!flags.json) {
    events.text = [](std::string_view piece) {
      fmt::print("{}", piece);
      std::fflush(stdout);
    };
  }
  return events;
}

nlohmann::json json_of(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json json_of(const Generation& g) {
  nlohmann::json json = {
      {"tokens", {{"prompt", g.prompt_tokens.size()}, {"new", g.new_tokens.size()}}},
      {"ttft_ms", json_of(g.ttft_ms)},
      {"tpot_ms", json_of(g.tpot_ms)},
      {"prefill_tok_s", json_of(g.prefill_tok_s)},
      {"decode_tok_s", json_of(g.decode_tok_s)},
      {"attention_share_prefill", json_of(g.attention_share_prefill)},
      {"attention_share_decode", json_of(g.attention_share_decode)},
      {"kv_bytes", g.kv_bytes},
      {"peak_bytes", g.peak_bytes},
      {"parallel_efficiency", nullptr},
      {"device", this_machine().cpu.name},
      {"backends", g.backends},
      {"finish", name_of(g.finish)},
      {"text", g.text},
      {"turns",
       {{{"ttft_ms", json_of(g.ttft_ms)},
         {"tpot_ms", json_of(g.tpot_ms)},
         {"reused_tokens", 0},
         {"text", g.text}}}},
  };
  if (g.check) {
    json["check"] = {{"rows", g.check->rows},
                     {"worst_error", g.check->worst_error},
                     {"bound", g.check->bound},
                     {"passed", g.check->passed()}};
  }
  return json;
}

void print_line(const char* name, const std::string& value) {
  fmt::print("{:<24}{}\n", name, value);
}

void print_number(const char* name, const std::optional<double>& value, const char* unit) {
  print_line(name, value ? fmt::format("{:>10.1f} {}", *value, unit) : fmt::format("{:>10}", "-"));
}

void print_share(const char* name, const std::optional<double>& share) {
  print_number(name, share ? std::optional(*share * 100.0) : std::nullopt, "%");
}

void print_table(const Generation& g) {
  constexpr double kMiB = 1024.0 * 1024.0;
  fmt::print("\n\n");
  print_line("tokens",
             fmt::format("{:>10} prompt, {} new", g.prompt_tokens.size(), g.new_tokens.size()));
  print_number("time to first token", g.ttft_ms, "ms");
  print_number("time per token", g.tpot_ms, "ms");
  print_number("prefill", g.prefill_tok_s, "tokens/s");
  print_number("decode", g.decode_tok_s, "tokens/s");
  print_share("attention in prefill", g.attention_share_prefill);
  print_share("attention in decode", g.attention_share_decode);
  print_number("KV", static_cast<double>(g.kv_bytes) / kMiB, "MiB");
  print_number("peak memory", static_cast<double>(g.peak_bytes) / kMiB, "MiB");
  if (g.check) {
    print_line("check",
               fmt::format("{:>10} rows against reference, worst error {:.1e}, bound {:.0e}",
                           g.check->rows, g.check->worst_error, g.check->bound));
  }
  for (const std::string& line : g.backends)  // why the others lost is in the log, and in the JSON
    fmt::print("{}\n", line.substr(0, line.find(" | ")));
  if (g.finish == Finish::context) fmt::print("ended: the model's context is full\n");
  if (g.finish == Finish::stopped) fmt::print("ended: interrupted\n");
}

void run(Flags flags) {
  GenerateOptions& options = flags.generate;
  options.max_new = size_option("--max-new", flags.max_new);
  options.chunk = size_option("--chunk", flags.chunk);
  options.backend = forced_backend(options.backend);
  const int available = this_machine().cpu.threads;
  if (options.threads > available)
    throw Error(ErrorCode::not_possible,
                concat("--threads ", options.threads, ": this process may run on ", available));
  // Mistakes must not cost the time to load a model.
  if (!options.backend.empty()) Registry::builtin().find(options.backend);
  if (!flags.prompt_file.empty()) options.prompt = read_prompt(flags.prompt_file);
  check(!options.prompt.empty(), "the prompt is empty");

  const Runner runner(flags.model);
  catch_interrupt();
  const Generation generation = runner.generate(options, events_of(flags));
  if (flags.json) {
    fmt::print("{}\n", json_of(generation).dump(2));
  } else {
    print_table(generation);
  }
  if (generation.check && !generation.check->passed()) throw CLI::RuntimeError(kFailed);
  if (generation.finish == Finish::stopped) throw CLI::RuntimeError(kInterrupted);
}

}  // namespace

void add_run_command(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  GenerateOptions& generate = flags->generate;
  CLI::App* command =
      app.add_subcommand("run", "Answer a prompt with a model, and say what it took");
  command->add_option("MODEL", flags->model, "a .gguf file")->required();

  CLI::Option_group* source = command->add_option_group("prompt");
  source->add_option("--prompt", generate.prompt, "the prompt");
  source->add_option("--prompt-file", flags->prompt_file, "its file; - is standard input");
  source->require_option(1);

  command->add_flag("--raw", generate.raw,
                    "leave the chat template out; the prompt may spell special tokens");
  command->add_option("--max-new", flags->max_new, "most new tokens")->capture_default_str();
  command->add_option("--chunk", flags->chunk, "prompt tokens a step")->capture_default_str();
  command->add_option("--backend", generate.backend, "run attention by this backend");
  command->add_option("--threads", generate.threads, "CPU threads; all that there are if not given")
      ->check(CLI::Range(1, 4096));
  command->add_flag("--check", generate.check,
                    "compare sampled rows of attention with the reference; its time counts");
  command->add_flag("--json", flags->json, "one JSON document on standard output, no table");
  command->footer(kHelp);
  command->callback([flags] { run(*flags); });
}

}  // namespace headwise::cli
