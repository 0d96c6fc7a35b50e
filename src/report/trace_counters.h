// The figures of samples as counter tracks. Plain values; any thread.
#pragma once

#include <optional>
#include <string>

#include "ledger/process_sample.h"

namespace interlude {

/// How one figure of a sample is drawn.
struct SampleCounter {
  std::string name;  // its column in run.db without the unit
  std::string unit;  // "bytes", "ns", "bytes/s", "s/s", "/s" or ""
};

SampleCounter CounterOf(const SampleField& field);

struct CounterValue {
  int64_t at_ns = 0;
  double value = 0;
};

/// What a sample says of one figure: for a counter its rate, from the beginning of the time that it
/// covers; for the others the value when the sample was taken. None for a figure that is not known.
std::optional<CounterValue> ValueOf(const SampleField& field, const ProcessSample& sample);

}  // namespace interlude
