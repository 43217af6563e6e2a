#pragma once

#include "headwise/error.h"

namespace headwise::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kNotPossible = 3;
inline constexpr int kInterrupted = 130;  // 128 + SIGINT, as shells report it

constexpr int exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::unknown_name:
      return kWrongUsage;
    case ErrorCode::not_possible:
      return kNotPossible;
    case ErrorCode::invalid_input:
      break;
  }
  return kFailed;
}

}  // namespace headwise::cli
