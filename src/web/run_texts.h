// The texts of a run that goes on, from its run.db. Each reads through connections of its own, so
// the run's writer does not wait for it.
#pragma once

#include <memory>
#include <string>

#include "web/fresh_text.h"

namespace interlude {

/// The JSON report (docs/report.md) of the run in `directory`. Nothing is opened before it is
/// asked.
std::unique_ptr<TextSource> MakeReportSource(const std::string& directory);
/// Its metrics (docs/live.md).
std::unique_ptr<TextSource> MakeMetricsSource(const std::string& directory);

}  // namespace interlude
