// The page of report/page/ as it was put together when this was built (tools/build_page.py), cut
// where something is filled in; internal to report/.
#pragma once

#include <string_view>

namespace interlude::internal {

extern const std::string_view kPageBegin;   // up to whom the page may ask
extern const std::string_view kPageMiddle;  // from there to the data
extern const std::string_view kPageEnd;

}  // namespace interlude::internal
