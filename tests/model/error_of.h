#pragma once

#include <functional>
#include <string>

#include "headwise/error.h"

namespace headwise {

/// The text of the Error that `action` throws; empty if it throws none.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace headwise
