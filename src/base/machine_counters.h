// What the kernel has counted for the whole machine, as far as it is visible from here: CPUs,
// disks, network. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace interlude {

/// Since the machine began. Nothing where the kernel does not say.
struct MachineCounters {
  std::optional<int64_t> busy_ns;  // of all CPUs together, stolen time and waiting for I/O left out
  std::optional<int64_t> steal_ns;  // taken by the hypervisor
  /// Time in which each whole disk (no partitions, no disks in memory) had something to do.
  std::optional<std::map<std::string, int64_t>> disk_busy_ns;
  struct Traffic {
    int64_t sent_bytes = 0;
    int64_t received_bytes = 0;
    friend bool operator==(const Traffic&, const Traffic&) = default;
  };
  /// Of each network interface but the loopback.
  std::optional<std::map<std::string, Traffic>> network;
};

/// Reads /proc/stat, /proc/diskstats and /proc/net/dev, and /sys/block to tell disks from
/// partitions, below `root`.
MachineCounters ReadMachineCounters(const std::string& root = "");

}  // namespace interlude
