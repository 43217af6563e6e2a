#include "advisor/report/html_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "headwise/error.h"

namespace headwise {
namespace {

using nlohmann::json;

/// What lies between `before` and the next `after`.
std::string between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == text.npos) return "no " + std::string(before);
  const std::size_t end = text.find(after, begin + before.size());
  return std::string(text.substr(begin + before.size(), end - begin - before.size()));
}

std::string title_in(std::string_view page) { return between(page, "<title>", "</title>"); }

std::string data_in(std::string_view page) {
  return between(page, R"(<script type="application/json" id="codesign">)", "</script>");
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
  return found;
}

json named(const std::string& name) {
  return {{"model", {{"name", name}}}, {"hardware", {{"title", "H200"}}}};
}

TEST(HtmlReport, CarriesTheDocument) {
  const json codesign = {{"model", {{"name", "Llama"}}},
                         {"contexts", {{{"context", 4096}, {"ttft_ms", 0.25}}}}};
  EXPECT_EQ(json::parse(data_in(html_report(codesign))), codesign);
}

TEST(HtmlReport, HostileNamesStayText) {
  for (const std::string name :
       {"</script><script>alert(1)</script>", "<!-- <script>", "]]>", "@CODESIGN@ @TITLE@",
        "a\xe2\x80\xa8z\xe2\x80\xa9", "&lt;b&gt; \" ' ` \\ ${x}",
        "</title><img src=x onerror=alert(1)>", "\x01\n\t"}) {
    const std::string page = html_report(named(name)), data = data_in(page);
    EXPECT_EQ(json::parse(data)["model"]["name"], name);
    EXPECT_EQ(data.find('<'), data.npos) << name;
    EXPECT_TRUE(std::ranges::all_of(data, [](char c) { return c >= ' ' && c <= '~'; })) << name;
    EXPECT_EQ(title_in(page).find('<'), std::string::npos) << name;
    for (const char* tag : {"<script", "</script", "<title", "<!--", "<img"})
      EXPECT_EQ(count(page, tag), count(html_report(named("plain")), tag))
          << tag << " for " << name;
  }
}

TEST(HtmlReport, TitleEscapesWhatHtmlReads) {
  EXPECT_EQ(title_in(html_report(named("<b>&amp;"))), "&lt;b&gt;&amp;amp; on H200");
  EXPECT_EQ(title_in(html_report(named(std::string("a\0b", 3)))), "ab on H200");
}

TEST(HtmlReport, BadUtf8BecomesReplacementCharacters) {
  const std::string page =
      html_report(named("a\xff"
                        "b"));
  EXPECT_EQ(json::parse(data_in(page))["model"]["name"],
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(title_in(page),
            "a\xef\xbf\xbd"
            "b on H200");
}

TEST(HtmlReport, NumbersThatAreNotFiniteAreNull) {
  const json codesign = {{"a", std::nan("")}, {"b", HUGE_VAL}};
  EXPECT_EQ(data_in(html_report(codesign)), R"({"a":null,"b":null})");
}

TEST(HtmlReport, PartsMayBeMissing) {
  for (const json& codesign : {json::object(), json{{"model", nullptr}, {"hardware", nullptr}},
                               json{{"model", json::array()}, {"hardware", 3}},
                               json{{"model", {{"name", nullptr}}}, {"hardware", {{"title", 1}}}}})
    EXPECT_EQ(title_in(html_report(codesign)), "Co-design report") << codesign;
  EXPECT_EQ(title_in(html_report({{"model", {{"name", "M"}}}})), "M");
  EXPECT_EQ(title_in(html_report({{"model", {{"name", "M"}}}, {"hardware", {{"name", "h200"}}}})),
            "M on h200");
}

TEST(HtmlReport, RefusesWhatIsNoObject) {
  EXPECT_THROW(html_report(json::array()), Error);
  EXPECT_THROW(html_report(nullptr), Error);
}

TEST(HtmlReport, LoadsNothing) {
  const std::string page = html_report(json::object());
  EXPECT_NE(page.find("default-src 'none'"), page.npos);
  for (const char* what :
       {"src=\"", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "WebSocket"})
    EXPECT_EQ(page.find(what), page.npos) << what;
}

TEST(HtmlReport, CarriesTheLicenseOfChartJs) {
  const std::string page = html_report(json::object());
  EXPECT_NE(page.find("Chart.js v3"), page.npos);
  EXPECT_NE(page.find("Permission is hereby granted, free of charge"), page.npos);
}

}  // namespace
}  // namespace headwise
