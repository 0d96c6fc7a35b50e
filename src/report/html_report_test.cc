#include "report/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/analyze_run.h"
#include "ledger/sample_run.h"
#include "report/run_report.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kDataBegin = R"(<script type="application/json" id="report">)";

/// What stands between the data element's tags, as a browser would see it: up to the first "</".
std::string DataOf(const std::string& page) {
  const size_t begin = page.find(kDataBegin);
  EXPECT_NE(begin, std::string::npos);
  const size_t first = begin + kDataBegin.size();
  return page.substr(first, page.find("</", first) - first);
}

size_t CountOf(const std::string& text, std::string_view word) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) ++count;
  return count;
}

TEST(HtmlReport, HasTheReportInItUnchanged) {
  const std::string json =
      FormatRunJson(*AnalyzeRunDirectory(INTERLUDE_SOURCE_DIR "/testdata/run_db"));
  EXPECT_EQ(nlohmann::json::parse(DataOf(FormatHtmlReport(json))), nlohmann::json::parse(json));
}

TEST(HtmlReport, TextFromOtherMachinesCannotBecomeMarkup) {
  const nlohmann::json report = {{"a", "</script><script>alert(1)</script>"},
                                 {"b", "<!--<script>"},
                                 {"c", "]]> & \" ' \xe2\x80\xa8 <"}};
  const std::string page = FormatHtmlReport(report.dump());
  EXPECT_EQ(nlohmann::json::parse(DataOf(page)), report);
  EXPECT_EQ(CountOf(page, "<script"), CountOf(FormatHtmlReport("{}"), "<script"));
  EXPECT_THAT(page, Not(HasSubstr("<!--<")));
}

TEST(HtmlReport, IsOneDocumentThatMayAskNoNetworkForAnything) {
  const std::string page = FormatHtmlReport("{}");
  EXPECT_EQ(page.rfind("<!doctype html>", 0), 0u);
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("connect-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe-inline")));
  EXPECT_THAT(page, Not(HasSubstr("unsafe-eval")));
  for (const char* outside : {" src=", "@import", "url(http", "url(\"http", "@DATA@", "@CONNECT@"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
}

TEST(HtmlReport, TheLivePageKnowsWhereToAskAndMayAskOnlyThere) {
  const std::string page = FormatLivePage("report.json?token=</x>", 500);
  EXPECT_EQ(nlohmann::json::parse(DataOf(page)),
            (nlohmann::json{{"source", "report.json?token=</x>"}, {"every_ms", 500}}));
  EXPECT_THAT(page, HasSubstr("connect-src 'self'"));
}

}  // namespace
}  // namespace interlude
