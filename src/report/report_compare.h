// A comparison of two runs as text for a terminal, or as JSON with the same content. Pure
// functions; any thread.
#pragma once

#include <string>

#include "analysis/compare_runs.h"
#include "report/run_report.h"

namespace interlude {

/// A run under the name that people know it by: its directory.
struct NamedRun {
  std::string name;
  const RunSummary& run;
};

/// What `interlude report --compare A B` prints. `comparison` is CompareRuns of the two. Ends with
/// a newline. Of `options` only the colour counts.
std::string FormatComparison(const RunComparison& comparison, const NamedRun& a, const NamedRun& b,
                             const ReportOptions& options = {});

/// What `interlude report --compare A B --json` prints; the fields are documented in
/// docs/report.md. Text that is not UTF-8 has U+FFFD in the wrong places.
std::string FormatComparisonJson(const RunComparison& comparison, const NamedRun& a,
                                 const NamedRun& b);

}  // namespace interlude
