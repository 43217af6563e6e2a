#include "cli/codesign_workload.h"

#include <cmath>

#include "cli/usage.h"
#include "core/check.h"

namespace headwise::cli {
namespace {

constexpr double kLongestMs = 1e9;

void set_size(const char* name, const std::string& text, std::int64_t& value) {
  if (text.empty()) return;
  const std::vector<std::int64_t> sizes = sizes_option(name, text);
  if (sizes.size() > 1) throw CLI::ValidationError(name, "one number of tokens");
  value = sizes.front();
}

void refuse_nan(const char* name, double value) {
  if (std::isnan(value)) throw CLI::ValidationError(name, "a number");
}

}  // namespace

void add_workload_options(CLI::App& command, WorkloadFlags& flags) {
  CLI::Option* workload =
      command.add_option("--workload", flags.workload, "chat, coding-agent, or a file");
  const auto refuse_empty = [](const std::string& text) {
    return std::string(text.empty() ? "is empty" : "");
  };
  workload->check(refuse_empty);
  const auto overriding = [&](const char* name, auto& value, const char* text) {
    return command.add_option(name, value, text)->needs(workload);
  };
  overriding("--shared-prefix", flags.shared_prefix, "tokens that all its conversations begin with")
      ->check(refuse_empty);
  overriding("--input", flags.input, "new tokens of a turn")->check(refuse_empty);
  overriding("--output", flags.output, "tokens of an answer")->check(refuse_empty);
  overriding("--turns", flags.turns, "of a conversation")->check(CLI::Range(1, 100000));
  overriding("--concurrency", flags.concurrency, "conversations at once")
      ->check(CLI::Range(1, 1 << 20));
  overriding("--reuse", flags.reuse, "part of earlier tokens that is still cached")
      ->check(CLI::Range(0.0, 1.0));
  overriding("--ttft", flags.ttft_ms, "target of the time to first token, ms")
      ->check(CLI::Range(1e-6, kLongestMs));
  command
      .add_option(
          "--tpot", flags.tpot_ms,
          "target of the time per output token, ms: the workload's, and throughput's of plans")
      ->check(CLI::Range(1e-6, kLongestMs));
}

std::optional<Workload> asked_workload(const WorkloadFlags& flags) {
  refuse_nan("--reuse", flags.reuse);
  refuse_nan("--ttft", flags.ttft_ms);
  refuse_nan("--tpot", flags.tpot_ms);
  if (flags.workload.empty()) return std::nullopt;
  Workload workload = read_workload(flags.workload);
  set_size("--shared-prefix", flags.shared_prefix, workload.shared_prefix);
  set_size("--input", flags.input, workload.input);
  set_size("--output", flags.output, workload.output);
  if (flags.turns > 0) workload.turns = flags.turns;
  if (flags.concurrency > 0) workload.concurrency = flags.concurrency;
  if (flags.reuse >= 0.0) workload.reuse = flags.reuse;
  if (flags.ttft_ms > 0.0) workload.ttft_target_ms = flags.ttft_ms;
  if (flags.tpot_ms > 0.0) workload.tpot_target_ms = flags.tpot_ms;
  try {
    check_workload(workload);
  } catch (const Error& error) {  // the file alone was right
    throw CLI::ValidationError("--workload", error.what());
  }
  return workload;
}

}  // namespace headwise::cli
