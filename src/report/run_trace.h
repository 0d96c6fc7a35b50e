// A run as a trace for a timeline viewer: what is on which track. The formats are behind TraceSink.
// Documented in docs/trace.md. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/account.h"
#include "ledger/run_database.h"
#include "report/trace_clocks.h"
#include "report/trace_sink.h"

namespace interlude {

/// What of a run database goes into a trace.
struct TraceRun {
  std::vector<WorkerRecord> workers;
  std::vector<RoundRecord> rounds;
  std::vector<EvaluationRecord> evaluations;
  std::vector<EventRecord> events;
  Account account;                       // its probes are not used
  std::map<int32_t, TraceClock> clocks;  // of the workers
};

/// All of it. Its errors are the database's. Memory: 24 bytes a chunk stamp, some 250 a sample.
StatusOr<TraceRun> ReadTraceRun(const RunDatabase& database);

/// Leaves out what belongs to other rounds than `first` to `last`, and samples, memory and events
/// of other times. OutOfRange when the run has none of these rounds.
Status KeepRounds(TraceRun& run, uint32_t first, uint32_t last);

enum class TraceClocks {
  kCorrected,  // all times on the coordinator's clock
  kRaw,        // each process's times on its own
};

void WriteTrace(const TraceRun& run, TraceClocks clocks, TraceSink& sink);

/// Sentences about what a reader of the trace must know: workers whose clock nobody probed, spans
/// that are left out because they end before they begin.
std::vector<std::string> TraceNotes(const TraceRun& run, TraceClocks clocks);

}  // namespace interlude
