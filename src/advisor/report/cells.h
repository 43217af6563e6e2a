#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "advisor/time/context_times.h"

namespace headwise::cells {

// How numbers stand in tables for people; what is not known is "-".

std::string number(double value, int digits);
std::string milliseconds(const Estimate& estimate);  ///< three digits that count
std::string percent(const std::optional<double>& share);
std::string gibibytes(std::int64_t bytes);
std::string tokens_a_second(std::int64_t requests, const Estimate& step);
std::string label(const Estimate& estimate);  ///< "measured +-0 %"

std::string right(const std::string& text, std::size_t width);
std::string left(const std::string& text, std::size_t width);

/// The longer of both times' share in doubt, and the weaker source: of a context as a whole. Both
/// phases weigh the same, or a prefill's seconds would hide what a decode's times rest on.
Estimate label_of(const Estimate& prefill, const Estimate& decode);

}  // namespace headwise::cells
