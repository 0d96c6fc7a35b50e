// What the kernel's counters stood at in one moment, and a sample as the difference of two moments.
// Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/cpu_throttling.h"
#include "base/machine_counters.h"
#include "base/pressure.h"
#include "base/process_counters.h"
#include "base/tcp_counters.h"
#include "ledger/process_sample.h"

namespace interlude {

struct SampleReading {
  Nanoseconds at{0};
  ProcessCounters process;
  MachineCounters machine;
  Pressure pressure;
  std::map<std::string, CpuThrottling> throttling;
  std::optional<std::map<uint64_t, TcpCounters>> tcp;
};

/// Reads everything now. `root` stands before /proc and /sys, for tests; without `tcp` nothing is
/// known of connections. Costs a few tenths of a millisecond.
SampleReading ReadSample(const Clock& clock, TcpConnections* tcp, const std::string& root = "");

/// The sample of the time between two readings; `recorded_by` is left to the caller. What either
/// lacks is kUnknownFigure. Threads, connections, disks and interfaces come and go: those that are
/// gone add nothing (what they did since the reading before is lost), threads and connections that
/// are new add all they have done, and nothing ever goes backwards. Of several cgroups the one
/// that was throttled most counts, since one quota inside another stops the same threads.
ProcessSample SampleBetween(const SampleReading& before, const SampleReading& after);

/// One sample for the time of two that follow each other: counters add up, what stood at a moment
/// is the later one's.
ProcessSample JoinSamples(const ProcessSample& first, const ProcessSample& second);

}  // namespace interlude
