#pragma once

#include <string_view>

namespace headwise {

/// The page of reports, with @TITLE@ and @CODESIGN@ in it, once each; cmake/report_page.cmake makes
/// it of the files in report/ and Chart.js.
extern const std::string_view report_page;

}  // namespace headwise
