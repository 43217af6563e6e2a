#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headwise {

/// Conversations that are served at once. All begin with the same tokens; each turn sends all
/// tokens so far, which are cached, and new ones behind them.
struct Workload {
  std::string name;
  std::string note;  ///< may be empty
  std::filesystem::path file;
  std::int64_t shared_prefix = 0;  ///< tokens that all conversations begin with
  std::int64_t input = 0;          ///< new tokens of a turn
  std::int64_t output = 0;         ///< tokens of an answer
  std::int64_t turns = 1;
  std::int64_t concurrency = 1;  ///< conversations
  double reuse = 1.0;            ///< part of the earlier tokens that the cache still has
  std::optional<double> ttft_target_ms, tpot_target_ms;

  /// Tokens of a turn's prompt, from turn 1 on.
  std::int64_t prompt(std::int64_t turn) const {
    return shared_prefix + (turn - 1) * (input + output) + input;
  }
  /// Of them cached when it comes, leaving at least its input.
  std::int64_t cached(std::int64_t turn) const {
    return static_cast<std::int64_t>(reuse * static_cast<double>(prompt(turn) - input));
  }
  /// Tokens of a conversation when its last answer ends.
  std::int64_t longest() const { return prompt(turns) + output; }
};

/// `name` is that of a file that list_workloads knows, or a path: it has a slash or ends in .json.
/// Throws Error, one line with the file and the field; an unknown name's lists the known ones.
Workload read_workload(const std::string& name);

/// Throws Error that names the field if a value is out of range or a conversation longer than 2^30
/// tokens.
void check_workload(const Workload& workload);

/// The files that come with Headwise.
std::vector<std::filesystem::path> list_workloads();

}  // namespace headwise
