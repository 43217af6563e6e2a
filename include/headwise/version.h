#pragma once

#include <string_view>

namespace headwise {

/// "0.1.0".
std::string_view version();
/// The source revision that was built, "unknown" outside a repository.
std::string_view revision();

}  // namespace headwise
