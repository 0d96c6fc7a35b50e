// The JSON report as one HTML page that people open in a browser, offline: style, charts and data
// are all inside. Pure functions; any thread. The page's own sources are in report/page/.
#pragma once

#include <string>
#include <string_view>

namespace interlude {

/// What `interlude report DIR --html FILE` writes, from what FormatRunJson gives. The page asks
/// nothing of any network: its Content-Security-Policy forbids it. `report_json` must be valid
/// UTF-8 JSON; text in it cannot become markup.
std::string FormatHtmlReport(std::string_view report_json);

/// The same page without data: it asks `source` (an address of where it came from, such as
/// "report.json") for the JSON, now and again `every_ms` after each answer, and may ask nothing
/// else.
std::string FormatLivePage(std::string_view source, int every_ms = 2000);

}  // namespace interlude
