#pragma once

#include <sstream>
#include <string>

#include "headwise/error.h"

namespace headwise {

/// The arguments written one after another.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return std::move(text).str();
}

/// Throws Error(invalid_input) made of `parts` unless `ok`.
template <class... Parts>
void check(bool ok, const Parts&... parts) {
  if (!ok) throw Error(ErrorCode::invalid_input, concat(parts...));
}

/// What `action` returns; an Error of its is thrown again behind "name: ".
template <class Action>
decltype(auto) with_name(const std::string& name, const Action& action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Error(error.code(), concat(name, ": ", error.what()));
  }
}

}  // namespace headwise
