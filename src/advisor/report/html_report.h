#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace headwise {

/// What `headwise codesign --html` writes: one HTML file that shows the document `codesign` (its
/// parts: docs/codesign-report.md) and loads nothing from elsewhere. A part that is absent, null or
/// empty is said to be so. Text of the document stays text, whatever it contains; bytes that are
/// not UTF-8 become U+FFFD, numbers that are not finite null.
std::string html_report(const nlohmann::json& codesign);

}  // namespace headwise
