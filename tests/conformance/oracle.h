#pragma once

#include <string>

#include "tests/conformance/runner.h"

namespace headwise::conformance {

/// What is wrong with the reference's answer to a case, or nothing. The case is computed once more,
/// in double precision and straight from the definition, sharing no code with any backend: golden
/// cases have no packed keys, tables per KV head, scales of queries or other strides.
std::string fault_in_reference(const Case& c, const Outputs& answer);

}  // namespace headwise::conformance
