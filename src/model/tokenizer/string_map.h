#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace headwise {

struct StringHash : std::hash<std::string_view> {
  using is_transparent = void;
};

/// By strings that it owns; looked up by views.
template <class Value>
using StringMap = std::unordered_map<std::string, Value, StringHash, std::equal_to<>>;

}  // namespace headwise
