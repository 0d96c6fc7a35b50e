// What the processes of a run recorded by time, whatever round it was. Plain values.
#pragma once

#include <vector>

#include "base/status.h"
#include "ledger/run_database.h"

namespace interlude {

struct RunSeries {
  std::vector<ProcessSample> samples;
  std::vector<MemoryRecord> memory;
  std::vector<ClockProbe> probes;
};

/// All of a run. Cost: as SQLite's for so many rows.
StatusOr<RunSeries> ReadRunSeries(const RunDatabase& database);

}  // namespace interlude
