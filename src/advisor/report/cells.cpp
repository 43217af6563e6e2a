#include "advisor/report/cells.h"

#include <algorithm>
#include <cstdio>

#include "core/check.h"

namespace headwise::cells {

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string milliseconds(const Estimate& estimate) {
  if (!estimate) return "-";
  const double ms = estimate.seconds * 1e3;
  return number(ms, ms < 10.0 ? 2 : ms < 100.0 ? 1 : 0);
}

std::string percent(const std::optional<double>& share) {
  return share ? concat(number(100.0 * *share, 1), " %") : std::string("-");
}

std::string gibibytes(std::int64_t bytes) {
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  return number(static_cast<double>(bytes) / kGiB, 2);
}

std::string tokens_a_second(std::int64_t requests, const Estimate& step) {
  return step ? number(static_cast<double>(requests) / step.seconds, 0) : std::string("-");
}

std::string label(const Estimate& estimate) {
  return estimate ? concat(estimate.source(), " +-", number(100.0 * estimate.error, 0), " %")
                  : std::string("unknown");
}

std::string right(const std::string& text, std::size_t width) {
  return concat(std::string(text.size() < width ? width - text.size() : 0, ' '), text);
}

std::string left(const std::string& text, std::size_t width) {
  return concat(text, std::string(text.size() < width ? width - text.size() : 0, ' '));
}

Estimate label_of(const Estimate& prefill, const Estimate& decode) {
  if (!prefill || !decode) return prefill ? decode : prefill;
  Estimate both = prefill.scaled(1.0 / prefill.seconds) + decode.scaled(1.0 / decode.seconds);
  both.error = std::max(prefill.error, decode.error);
  return both;
}

}  // namespace headwise::cells
