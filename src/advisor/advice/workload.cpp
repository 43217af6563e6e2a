#include "advisor/advice/workload.h"

#include "advisor/device/data_folders.h"
#include "core/check.h"
#include "model/json/json_fields.h"
#include "model/json/json_text.h"

namespace headwise {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;
constexpr int kMostTurns = 100000;
constexpr int kMostConversations = 1 << 20;
constexpr double kLongestTargetMs = 1e9;

void check_range(const char* field, double value, double least, double most) {
  check(value >= least && value <= most, "field '", field, "' is out of range: ", value);
}

Workload parse_workload(const std::string& text, const fs::path& file) {
  const nlohmann::json document = parse_json(text);
  JsonFields fields(document);
  constexpr int kMost = static_cast<int>(kMostTokens);
  Workload workload{.name = fields.string("name"),
                    .note = fields.string_or("note", ""),
                    .file = file,
                    .input = fields.count("input", kMost),
                    .output = fields.count("output", kMost),
                    .turns = fields.count_or("turns", kMostTurns, 1),
                    .concurrency = fields.count_or("concurrency", kMostConversations, 1),
                    .reuse = fields.number_or("reuse", 0.0, 1.0),
                    .ttft_target_ms = {},
                    .tpot_target_ms = {}};
  if (fields.has("shared_prefix"))
    workload.shared_prefix = fields.integer("shared_prefix", 0, kMost);
  if (fields.has("ttft_ms")) workload.ttft_target_ms = fields.number("ttft_ms", 0.0);
  if (fields.has("tpot_ms")) workload.tpot_target_ms = fields.number("tpot_ms", 0.0);
  fields.refuse_others();
  check_workload(workload);
  return workload;
}

fs::path find_workload(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".json")) return name;
  std::string known;
  for (const fs::path& file : list_workloads()) {
    if (file.stem() == name) return file;
    known += concat(known.empty() ? "" : ", ", file.stem().string());
  }
  throw Error(ErrorCode::unknown_name, concat("workload '", name, "' is unknown; there are ", known,
                                              ", or give a file's path"));
}

}  // namespace

void check_workload(const Workload& workload) {
  constexpr auto kMost = static_cast<double>(kMostTokens);
  const auto check_count = [](const char* field, std::int64_t value, double least, double most) {
    check_range(field, static_cast<double>(value), least, most);
  };
  check_count("shared_prefix", workload.shared_prefix, 0.0, kMost);
  check_count("input", workload.input, 1.0, kMost);
  check_count("output", workload.output, 1.0, kMost);
  check_count("turns", workload.turns, 1.0, kMostTurns);
  check_count("concurrency", workload.concurrency, 1.0, kMostConversations);
  check_range("reuse", workload.reuse, 0.0, 1.0);
  constexpr double kShortestTargetMs = 1e-6;
  if (workload.ttft_target_ms)
    check_range("ttft_ms", *workload.ttft_target_ms, kShortestTargetMs, kLongestTargetMs);
  if (workload.tpot_target_ms)
    check_range("tpot_ms", *workload.tpot_target_ms, kShortestTargetMs, kLongestTargetMs);
  check(workload.longest() <= kMostTokens, "field 'turns' makes conversations of ",
        workload.longest(), " tokens, more than ", kMostTokens);
}

Workload read_workload(const std::string& name) {
  constexpr std::size_t kMostBytes = 1 << 16;
  const fs::path file = find_workload(name);
  const std::string text = read_text(file, kMostBytes);
  return with_name(file.string(), [&] { return parse_workload(text, file); });
}

std::vector<fs::path> list_workloads() { return data_files(data_folders("workloads")); }

}  // namespace headwise
