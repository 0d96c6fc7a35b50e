// A run's results and phase times as scalars in a TensorBoard event file. Pure functions; any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/run_summary.h"

namespace interlude {

/// The bytes of an event file: a step for each round and evaluation, with the tags of
/// docs/trace.md. `rounds` are the run's, from the same database.
std::string FormatTensorBoardEvents(const RunSummary& run, const std::vector<RoundRecord>& rounds);

/// "events.out.tfevents.SECONDS.HOST", by which TensorBoard knows an event file. SECONDS are those
/// of the run's start, so that the same run gives the same name.
std::string TensorBoardFileName(const RunSummary& run, std::string_view host);

/// CRC-32C (Castagnoli) as the records of an event file carry it: rotated and offset. Public for
/// the test.
uint32_t MaskedCrc32c(std::string_view bytes);

}  // namespace interlude
