// The database of a long run as a coordinator would have written it, made by a simulation: for
// measuring what reading and analysing it costs. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace interlude {

struct LongRunOptions {
  uint64_t spans = 1'000'000;  // at least so many, in whole rounds
  int32_t workers = 8;
  uint32_t chunks = 64;
};

/// Makes the run database `path`: for each round the spans, stamps and clock estimates that real
/// workers and a real coordinator leave, and for each second the samples, probes and records of
/// memory of each process. The same options give the same run. Errors are RunDatabase's.
Status WriteLongRun(const std::string& path, const LongRunOptions& options);

}  // namespace interlude
