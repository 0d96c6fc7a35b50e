// Clock probes as run.db keeps them: some 15 bytes each, where a row of seven numbers takes 50.
// Plain values; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ledger/clock_probe.h"

namespace interlude {

/// Five numbers a probe, each the difference from that of the probe before (the first: from 0),
/// zigzag coded, in LEB128: the time from the probe before to this (`sent_ns`), `received_ns -
/// sent_ns`, `replied_ns - received_ns`, `returned_ns - sent_ns` and `run_delay_ns`. Differences
/// wrap, so that any probe can be kept. docs/run-database.md has an example. The worker is not in
/// the bytes.
std::string EncodeProbes(std::span<const ClockProbe> probes);
/// The probes of `worker`. InvalidArgument for bytes that EncodeProbes cannot have made.
StatusOr<std::vector<ClockProbe>> DecodeProbes(int32_t worker, std::string_view bytes);

}  // namespace interlude
