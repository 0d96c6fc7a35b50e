// From a run database to a RunSummary. Reads; decides nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/run_summary.h"
#include "base/status.h"
#include "ledger/run_database.h"

namespace interlude {

/// The summary of a run, finished or not. Its errors are the database's. A run without a finished
/// round has empty rounds. Cost: one pass over the database; in memory, all of it but the chunk
/// stamps, which are most. With more than one thread rounds and causes are worked out beside
/// reading.
StatusOr<RunSummary> AnalyzeRun(const RunDatabase& database, int threads = 1);

/// Opens DIR/run.db and analyzes it. Its errors are RunDatabase::OpenReadOnly's.
StatusOr<RunSummary> AnalyzeRunDirectory(const std::string& directory, int threads = 1);

/// The phases in `spans` (of one round, in any order), one summary a phase. Several spans of one
/// process and phase count as one with the sum of their times.
std::vector<PhaseSummary> SummarizePhases(std::span<const Span> spans);

/// Medians over `rounds`, without the first when there are more.
TypicalRound SummarizeTypicalRound(const std::vector<RoundSummary>& rounds);

}  // namespace interlude
