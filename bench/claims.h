#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "advisor/roofline.h"

namespace headwise::bench {

struct Row;

/// What is said of attention, and checked against the machine.
enum class Topic : std::uint8_t {
  scores,       ///< scores written out against not
  generations,  ///< on Hopper: its instructions against those of the generation before
  memory,       ///< the workspace against the context
  groups,       ///< query heads a KV head, in decode and in prefill
  split,        ///< one long request against as many keys in many
  pages,        ///< page sizes against keys of one piece
  mixed,        ///< a mixed step against its parts
  append,       ///< a short input behind a growing prefix
};
inline constexpr int kTopics = 8;

std::string_view name_of(Topic topic);

/// Row::role of rows that a claim tells apart.
namespace role {
inline constexpr const char* kFused = "fused";
inline constexpr const char* kWritten = "written out";
inline constexpr const char* kHopper = "Hopper's instructions";
inline constexpr const char* kAmpere = "Ampere's instructions";
inline constexpr const char* kOne = "one request";
inline constexpr const char* kMany = "many requests";
inline constexpr const char* kOneThread = "one request, one thread";
inline constexpr const char* kWhole = "one call";
inline constexpr const char* kParts = "its parts";
}  // namespace role

/// A claim beside what was measured.
struct Claim {
  using Cell = std::variant<std::monostate, std::string, double>;  ///< the first: not measured

  Topic topic = Topic::scores;
  std::string text;              ///< what is said
  std::string measured;          ///< what was found, in a clause
  std::optional<bool> holds;     ///< absent: the run lacks what it takes to say so
  std::vector<std::string> ran;  ///< "cpu-avx512 row 0 (d128 f32 kv bf16)", each once
  std::vector<std::string> heads;
  std::vector<std::vector<Cell>> points;  ///< [points, heads]
};

/// Of each topic that `rows` are about, in order. `limits` are the probes'.
std::vector<Claim> judge_claims(std::span<const Row> rows, const HardwareLimits& limits);

/// "… — … — holds".
std::string verdict_line(const Claim& claim);

/// {"name", "claim", "measured", "holds", "ran", "points": [{head: cell}]}.
nlohmann::ordered_json to_json(const Claim& claim);

}  // namespace headwise::bench
