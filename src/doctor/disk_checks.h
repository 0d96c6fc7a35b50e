// The disk of a run's directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "doctor/check.h"
#include "doctor/model_need.h"

namespace interlude {

struct DiskReading {
  std::string directory;
  std::string trouble;  // why it could not be looked at; empty: it could
  uint64_t free_bytes = 0;
  bool in_memory = false;  // a tmpfs
  std::optional<bool> rotational;
};

/// `directory` as people give it; one that is not there yet stands for the nearest that is.
DiskReading ReadDisk(const std::string& root, const std::string& directory);

/// Whether the device MAJOR:MINOR, or the disk that it is a partition of, turns.
std::optional<bool> ReadRotational(const std::string& root, unsigned device_major,
                                   unsigned device_minor);

/// `write_bytes_per_s`: MeasureDisk's.
Checks CheckDisk(const DiskReading& reading, const Job& job,
                 const StatusOr<double>& write_bytes_per_s);

}  // namespace interlude
