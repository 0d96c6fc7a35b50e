// The parts of a comparison's text that are sentences; internal to report/. Each ends with a
// newline.
#pragma once

#include <string>

#include "report/report_compare.h"

namespace interlude::internal {

/// Which two runs, what changed in a round and on its path, what was compared, and how long the
/// parameters were the same.
std::string ComparisonHeadline(const RunComparison& comparison, const NamedRun& a,
                               const NamedRun& b);
/// What the noise is, and what it is not.
std::string ComparisonFooter(const PathComparison& path);

}  // namespace interlude::internal
