#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace headwise {

/// What a JSON file may hold, so that reading a hostile one stays cheap.
struct JsonLimits {
  std::size_t bytes = std::size_t{1} << 20;
  std::size_t depth = 16;
  std::size_t values = std::size_t{1} << 15;
};

/// Throws Error, one line that names the field behind which the fault lies: not JSON, past a limit,
/// a number beyond double's range, a name twice in an object.
nlohmann::json parse_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace headwise
