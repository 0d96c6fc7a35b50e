// What this machine's memory, loopback and disk can do: the yardsticks of the benchmarks. Big
// arrays, touched before they are timed; each figure is the median of a few passes.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace interlude {

/// Bytes a second, `threads` threads together.
struct MemorySpeed {
  double copy = 0;  // memcpy: bytes read and bytes written
  double read = 0;  // bytes read
};

/// Takes two arrays of `array_bytes` for the time of the call.
MemorySpeed MeasureMemory(int threads, size_t array_bytes);

/// Plain TCP over the loopback device: TimeRawTcp of `bytes`. Fails without a loopback device.
StatusOr<double> MeasureTcpLoopback(size_t bytes);

/// Writes a file of `bytes` in `directory` and waits until it is on the disk; the file is removed.
StatusOr<double> MeasureDiskWrite(const std::string& directory, size_t bytes);

/// What the figures were measured on, for people: no names and no addresses.
struct MachineDescription {
  std::string cpu_model;
  int usable_cores = 1;
  int visible_cores = 1;
  double memory_bytes = 0;
  std::string kernel;
  double load_average = 0;  // over the last minute, when it was asked

  /// "CPU model, 2 usable cores of 8, 23.5 GiB, Linux 6.1".
  std::string ToString() const;
};

MachineDescription DescribeMachine();

}  // namespace interlude
