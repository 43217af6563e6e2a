#pragma once

#include <cstdint>

namespace headwise {

using TokenId = std::int32_t;

constexpr TokenId kNoToken = -1;

}  // namespace headwise
