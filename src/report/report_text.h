// The sections of the terminal report; internal to report/. Each ends with a newline or is empty.
#pragma once

#include <string>
#include <vector>

#include "analysis/run_summary.h"
#include "report/run_report.h"

namespace interlude::internal {

// report_text.cc
/// A section with its heading and a blank line before it; nothing when the body is empty.
std::string Section(const std::string& heading, const std::string& body,
                    const ReportOptions& options);

// report_headline.cc
/// What was run, how and when, in one line.
std::string Title(const RunSummary& run);
std::string Headline(const RunSummary& run);
std::string Footer(const RunSummary& run);
/// What a run that kept no account cannot say; empty for all others.
std::string AccountNote(const RunSummary& run);

// report_findings.cc
std::string FindingsSection(const RunSummary& run);
/// One finding's text, with what mending it saves; without its evidence.
std::string FindingText(const Finding& finding);
/// Wrapped, each line indented by two more spaces than the first.
std::string Paragraph(const std::string& text, size_t indent);

// report_tables.cc
std::string StagesSection(const RunSummary& run);
std::string RoundsTable(const RunSummary& run, const ReportOptions& options);
std::string PhasesTable(const std::vector<PhaseSummary>& phases);
/// One table a side: each phase a column, each round three lines (min, median, max).
std::string PhasesByRoundTable(const RunSummary& run, bool of_workers,
                               const ReportOptions& options);
std::string WorkersTable(const RunSummary& run);
std::string EventsSection(const RunSummary& run, const ReportOptions& options);

// report_path.cc
/// What held the rounds up, a mean round, without the first when there are more: adds up exactly.
std::string PathTable(const RunSummary& run);
std::string PathWorkersTable(const RunSummary& run);

/// Positions of the rounds to list, at most options.max_rounds: the first one and the last ones.
/// Where rounds are left out, `rounds.size()` stands in their place once.
std::vector<size_t> ListedRounds(size_t rounds, size_t max_rounds);

}  // namespace interlude::internal
