// Cores: how many there seem to be, how many there are, and what keeps programs from them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_quota.h"
#include "base/cpu_throttling.h"
#include "doctor/check.h"

namespace interlude {

/// The value of an environment variable; nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct CpuReading {
  CpuLimits limits;
  /// What the usual libraries take their number of threads from, where it is set.
  std::map<std::string, std::string> thread_settings;
  std::map<std::string, CpuThrottling> throttling;  // when the reading was taken
  std::string model;                                // of the CPU; empty: not known
  std::string simd_target;                          // Highway's name of what the codec uses
};

CpuReading ReadCpu(const std::string& root, const Environment& environment);

/// `throttling_after`: read again `elapsed_s` seconds later, after work on all usable cores.
Checks CheckCpu(const CpuReading& reading,
                const std::map<std::string, CpuThrottling>& throttling_after, double elapsed_s);

/// What `interlude-worker --check-blas` printed (train/blas.h); nothing: it could not be asked, and
/// `trouble` says why.
Check CheckBlas(const std::optional<std::string>& line, const std::string& trouble);

}  // namespace interlude
