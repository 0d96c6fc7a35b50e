// The kernel: which one, its clock, what it tells of itself, how many files it allows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/pressure.h"
#include "doctor/check.h"

namespace interlude {

struct SystemReading {
  std::string kernel;        // "Linux 6.1.0"; empty: not known
  std::string clock_source;  // "tsc"; empty: not known
  Pressure pressure;
  std::optional<uint64_t> open_files;  // the soft limit; UINT64_MAX: none
  std::optional<uint64_t> most_files;  // the hard limit
};

/// The limits are always those of the calling process.
SystemReading ReadSystem(const std::string& root);

Checks CheckSystem(const SystemReading& reading);

}  // namespace interlude
