// An account: all that a process has recorded since it was last asked. Workers send theirs with
// their reports, the coordinator writes all to run.db. Plain values.
#pragma once

#include <vector>

#include "ledger/chunk_stamps.h"
#include "ledger/clock_probe.h"
#include "ledger/process_sample.h"
#include "ledger/span.h"

namespace interlude {

struct Account {
  std::vector<Span> spans;
  std::vector<ChunkStamps> stamps;
  std::vector<ProcessSample> samples;
  std::vector<MemoryRecord> memory;
  std::vector<ClockProbe> probes;

  bool empty() const {
    return spans.empty() && stamps.empty() && samples.empty() && memory.empty() && probes.empty();
  }
  /// Appends all of `other`.
  void Append(Account other);
  friend bool operator==(const Account&, const Account&) = default;
};

}  // namespace interlude
