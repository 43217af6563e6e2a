#include "advisor/report/html_report.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "advisor/report/report_page.h"
#include "core/check.h"

namespace headwise {
namespace {

using nlohmann::json;

/// UTF-8 for certain, as an HTML element's text.
std::string escape_html(const std::string& text) {
  std::string escaped;
  for (const char c : text) switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '\0':
        break;
      default:
        escaped += c;
    }
  return escaped;
}

/// JSON that may stand in a script element: nothing in it ends or opens a tag or a comment.
std::string script_json(const json& value) {
  std::string text;
  for (const char c : value.dump(-1, ' ', true, json::error_handler_t::replace))
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  return text;
}

/// What `part` of the document is called; empty: it has no name.
std::string name_in(const json& codesign, const char* part, const char* field) {
  const auto found = codesign.find(part);
  if (found == codesign.end() || !found->is_object()) return {};
  const auto name = found->find(field);
  if (name == found->end() || !name->is_string()) return {};
  // Through JSON and back: what is not UTF-8 has been replaced.
  return json::parse(name->dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

std::string title_of(const json& codesign) {
  std::string title = name_in(codesign, "model", "name");
  if (title.empty()) title = "Co-design report";
  std::string hardware = name_in(codesign, "hardware", "title");
  if (hardware.empty()) hardware = name_in(codesign, "hardware", "name");
  return hardware.empty() ? title : title + " on " + hardware;
}

}  // namespace

std::string html_report(const json& codesign) {
  check(codesign.is_object(), "a report is made of a JSON object, not of ", codesign.type_name());
  constexpr std::string_view title_mark = "@TITLE@", data_mark = "@CODESIGN@";
  const std::size_t title = report_page.find(title_mark);
  const std::size_t data = report_page.find(data_mark, title);
  std::string page(report_page.substr(0, title));
  page += escape_html(title_of(codesign));
  page += report_page.substr(title + title_mark.size(), data - title - title_mark.size());
  page += script_json(codesign);
  page += report_page.substr(data + data_mark.size());
  return page;
}

}  // namespace headwise
