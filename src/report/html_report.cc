#include "report/html_report.h"

#include <nlohmann/json.hpp>

#include "report/page_parts.h"

namespace interlude {
namespace {

/// JSON as it may stand in a <script>: its only '<' are inside strings, where \u003c says the same,
/// so that neither "</script" nor "<!--" can end or change the element.
void AppendScriptSafe(std::string_view json, std::string& page) {
  for (const char c : json) {
    if (c == '<')
      page += "\\u003c";
    else
      page += c;
  }
}

std::string FormatPage(std::string_view connect, std::string_view json) {
  std::string page;
  page.reserve(internal::kPageBegin.size() + internal::kPageMiddle.size() +
               internal::kPageEnd.size() + connect.size() + json.size() + json.size() / 16);
  page += internal::kPageBegin;
  page += connect;
  page += internal::kPageMiddle;
  AppendScriptSafe(json, page);
  page += internal::kPageEnd;
  return page;
}

}  // namespace

std::string FormatHtmlReport(std::string_view report_json) {
  return FormatPage("'none'", report_json);
}

std::string FormatLivePage(std::string_view source, int every_ms) {
  const nlohmann::json where = {{"source", source}, {"every_ms", every_ms}};
  return FormatPage("'self'", where.dump(-1, ' ', /*ensure_ascii=*/false,
                                         nlohmann::json::error_handler_t::replace));
}

}  // namespace interlude
