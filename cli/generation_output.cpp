#include "cli/generation_output.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/interrupt.h"
#include "cli/progress.h"
#include "headwise/machine.h"

namespace headwise::cli {
namespace {

nlohmann::json json_of(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json turn_json(const Generation& g) {
  return {{"ttft_ms", json_of(g.ttft_ms)},
          {"tpot_ms", json_of(g.tpot_ms)},
          {"prompt_tokens", g.prompt_tokens.size()},
          {"reused_tokens", g.reused_tokens},
          {"finish", name_of(g.finish)},
          {"text", g.text}};
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

}  // namespace

GenerateEvents events_for(bool print_text) {
  GenerateEvents events;
  events.stop = interrupted;
  events.prefill = [](std::int64_t done, std::int64_t total) {
    if (done < total) return show_progress(fmt::format("prompt: {} of {} tokens", done, total));
    clear_progress();
  };
  if (print_text) {
    events.text = [](std::string_view piece) {
      fmt::print("{}", piece);
      std::fflush(stdout);
    };
  }
  return events;
}

nlohmann::json json_of(std::span<const Generation> turns) {
  const Generation& g = turns.front();
  const Generation& last = turns.back();
  nlohmann::json json = {
      {"tokens", {{"prompt", g.prompt_tokens.size()}, {"new", g.new_tokens.size()}}},
      {"ttft_ms", json_of(g.ttft_ms)},
      {"tpot_ms", json_of(g.tpot_ms)},
      {"prefill_tok_s", json_of(g.prefill_tok_s)},
      {"decode_tok_s", json_of(g.decode_tok_s)},
      {"attention_share_prefill", json_of(g.attention_share_prefill)},
      {"attention_share_decode", json_of(g.attention_share_decode)},
      {"kv_bytes", g.kv_bytes},
      {"peak_bytes", last.peak_bytes},
      {"parallel_efficiency", nullptr},
      {"device", this_machine().cpu.name},
      {"backends", last.backends},
      {"finish", name_of(last.finish)},
      {"text", g.text},
  };
  for (const Generation& turn : turns) json["turns"].push_back(turn_json(turn));
  if (last.kv_saturated) json["kv_saturated"] = *last.kv_saturated;
  if (last.check) {
    json["check"] = {{"rows", last.check->rows},
                     {"worst_error", last.check->worst_error},
                     {"bound", last.check->bound},
                     {"passed", last.check->passed()}};
  }
  return json;
}

void print_table(std::span<const Generation> turns) {
  const Generation& g = turns.front();
  const Generation& last = turns.back();
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
  if (g.reused_tokens > 0) print_line("reused", fmt::format("{:>10} tokens", g.reused_tokens));
  print_line("parallel efficiency", fmt::format("{:>10} (one device)", "n/a"));
  print_number("KV", static_cast<double>(g.kv_bytes) / kMiB, "MiB");
  print_number("peak memory", static_cast<double>(last.peak_bytes) / kMiB, "MiB");
  if (last.kv_saturated)
    print_line("KV saturated", fmt::format("{:>10} numbers", *last.kv_saturated));
  if (last.check) {
    print_line("check",
               fmt::format("{:>10} rows against reference, worst error {:.1e}, bound {:.0e}",
                           last.check->rows, last.check->worst_error, last.check->bound));
  }
  for (const std::string& line :
       last.backends)  // why the others lost is in the log, and in the JSON
    fmt::print("{}\n", line.substr(0, line.find(" | ")));
  if (last.finish == Finish::context)
    fmt::print("ended: the model's context, or the cache, is full\n");
  if (last.finish == Finish::stopped) fmt::print("ended: interrupted\n");
}

std::string summary_of(const Generation& g) {
  std::string text = fmt::format("{} of {} tokens reused", g.reused_tokens, g.prompt_tokens.size());
  if (g.ttft_ms) text += fmt::format("; first token after {:.1f} ms", *g.ttft_ms);
  if (g.tpot_ms) text += fmt::format(", then {:.1f} ms a token", *g.tpot_ms);
  if (g.kv_saturated.value_or(0) > 0)
    text += fmt::format("; {} numbers of K and V saturated so far", *g.kv_saturated);
  return text;
}

}  // namespace headwise::cli
