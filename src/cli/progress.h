// How numbers, rounds and results look to a person. Pure functions: text from values, nothing
// printed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "coordinator/coordinator.h"

namespace interlude {

/// 9120 -> "9,120".
std::string FormatCount(uint64_t count);

/// "2.8 ms", "34 ms", "0.3 s", "5.9 s", "108 s". Negative and NaN as "0 ms".
std::string FormatSeconds(double seconds);

/// "round  3/12  loss 0.612  9,120 samples/s  train 5.9 s  exchange 0.3 s  95 % training". Train
/// is the longest of the workers', exchange the shortest. The exchange and the evaluation are named
/// where there is a figure.
std::string FormatRoundLine(const RunObserver::RoundLine& line);

/// One line of less than `columns` characters: a bar of the local steps, then of the merged chunks.
std::string FormatLiveBar(const RunObserver::Progress& progress, size_t columns);

/// "after round 12: test accuracy 84.31 % of 10,000 samples".
std::string FormatEvaluation(uint32_t after_rounds, double accuracy, uint64_t samples);

/// What a person who started a coordinator does next: the command that starts a worker. `host_name`
/// stands for a coordinator that listens on all interfaces; `proof` is what the command needs
/// besides the address, with a space before it.
std::string FormatInvitation(const std::string& address, uint32_t workers,
                             const std::string& host_name, const std::string& proof = "");

/// The last lines of a run: accuracy, the hash that all agreed on, where the model and the report
/// are. No newline at the end.
std::string FormatOutcome(const RunOutcome& outcome, const std::string& directory);

}  // namespace interlude
