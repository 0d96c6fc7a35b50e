// A RunSummary as text for a terminal, or as JSON with the same content. Pure functions; any
// thread.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/run_summary.h"

namespace interlude {

/// The report fits this many columns.
inline constexpr size_t kReportWidth = 100;

struct ReportOptions {
  /// Bold headings by ANSI sequences; for a terminal only. Nothing else changes.
  bool color = false;
  /// Most rounds that the tables list: the first, and the last ones. 0 lists all.
  size_t max_rounds = 24;
  /// The tables of every phase in every round, not only of the median round.
  bool phases_by_round = true;
  /// Most events listed; the last ones.
  size_t max_events = 20;
};

/// What `interlude report DIR` prints: a headline, where a median round's time went, the rounds,
/// the phases, the workers, the events and what the figures mean. Ends with a newline.
std::string FormatRunReport(const RunSummary& run, const ReportOptions& options = {});

/// What `interlude report DIR --json` prints; the fields are documented in docs/report.md. Every
/// round and event is in it. Numbers that are not finite are null; text that is not UTF-8 has
/// U+FFFD in the wrong places. `indent` -1: all in one line.
std::string FormatRunJson(const RunSummary& run, int indent = 2);

}  // namespace interlude
