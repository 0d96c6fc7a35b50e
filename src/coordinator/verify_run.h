// Looks whether what a run's directory holds leads to the recorded bits; takes nothing up.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/hash128.h"
#include "base/status.h"

namespace interlude {

/// What was found in a run's directory, in which nobody works.
struct Verified {
  std::string run_id;
  uint32_t snapshot_round = 0;    // it was begun after so many rounds
  uint32_t committed_rounds = 0;  // the last that could be made again
  uint64_t merges = 0;            // that were, each with the recorded hash
  Hash128 root;                   // after the last
};

/// Makes the committed rounds again that snapshots and journal reach, from the oldest snapshot that
/// can be read and from which the journal leads on, and compares every hash; writes nothing.
/// DataLoss where something differs or is damaged, NotFound without a snapshot, FailedPrecondition
/// while a coordinator works there.
StatusOr<Verified> VerifyRun(const std::string& directory, int threads, const Clock& clock);

}  // namespace interlude
