// Samples: once a second, what the kernel says of a process and its machine, and who owns the big
// memory. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ledger/span.h"

namespace interlude {

/// A figure that this kernel, cgroup or permission does not give.
inline constexpr int64_t kUnknownFigure = -1;

/// Counters are differences over the `interval_ns` before `at_ns`; the others are as they stood
/// then. Any but the first two may be kUnknownFigure.
struct ProcessSample {
  int32_t recorded_by = kNoWorker;
  int64_t at_ns = 0;  // the process's own clock
  int64_t interval_ns = 0;

  // the process
  int64_t cpu_ns = kUnknownFigure;        // on a CPU, all threads
  int64_t run_delay_ns = kUnknownFigure;  // ready but waiting for a CPU, all threads
  int64_t threads = kUnknownFigure;
  int64_t major_faults = kUnknownFigure;
  int64_t minor_faults = kUnknownFigure;
  int64_t rss_bytes = kUnknownFigure;
  int64_t anonymous_bytes = kUnknownFigure;  // of rss_bytes
  int64_t peak_rss_bytes = kUnknownFigure;   // since the process began
  int64_t disk_read_bytes = kUnknownFigure;
  int64_t disk_write_bytes = kUnknownFigure;
  // its cgroup
  int64_t throttled_ns = kUnknownFigure;  // of all its threads and CPUs, by a CPU quota
  int64_t throttled_periods = kUnknownFigure;
  int64_t cgroup_cpu_full_ns = kUnknownFigure;  // cgroup v2: all tasks of the group held up
  // its machine, as far as it is visible
  int64_t machine_busy_ns = kUnknownFigure;  // of all CPUs together
  int64_t steal_ns = kUnknownFigure;         // taken by the hypervisor
  int64_t cpu_some_ns = kUnknownFigure;      // pressure stall: some task waited for a CPU
  int64_t memory_some_ns = kUnknownFigure;   // ... for memory
  int64_t io_some_ns = kUnknownFigure;       // ... for a disk
  int64_t disk_busy_ns = kUnknownFigure;     // of the busiest disk
  int64_t net_sent_bytes = kUnknownFigure;   // all interfaces but loopback
  int64_t net_received_bytes = kUnknownFigure;
  // its TCP connections to the coordinator (the coordinator's own: to all workers)
  int64_t tcp_sent_bytes = kUnknownFigure;
  int64_t tcp_retransmitted_bytes = kUnknownFigure;
  int64_t tcp_busy_ns = kUnknownFigure;              // data was on its way or waiting
  int64_t tcp_receiver_limited_ns = kUnknownFigure;  // the other side's window held it up
  int64_t tcp_sender_limited_ns = kUnknownFigure;    // our own buffer held it up
  int64_t tcp_round_trip_ns = kUnknownFigure;        // smoothed, the largest

  friend bool operator==(const ProcessSample&, const ProcessSample&) = default;
};

/// One figure of a sample: its column in run.db, and where it stands.
struct SampleField {
  std::string_view name;
  int64_t ProcessSample::*value;
  std::string_view meaning;
};

/// All figures from `interval_ns` on, in the order of the struct, which is that of the wire: new
/// ones are added at the end.
extern const std::array<SampleField, 28> kSampleFields;

/// How much memory stood under one owner's name from `at_ns` on, until the owner's next record.
struct MemoryRecord {
  int32_t recorded_by = kNoWorker;
  int64_t at_ns = 0;
  std::string owner;
  int64_t bytes = 0;

  friend bool operator==(const MemoryRecord&, const MemoryRecord&) = default;
};

}  // namespace interlude
