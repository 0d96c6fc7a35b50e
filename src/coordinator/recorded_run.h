// What a run's directory has of it: a snapshot, and the rounds of the journal that are made again
// on top. For recovery (recovery.h) and for looking (verify_run.h). Each call: one thread at a
// time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "config/run_config.h"
#include "coordinator/replay.h"
#include "store/snapshot.h"

namespace interlude {

/// A snapshot, loaded into a merger.
struct Loaded {
  SnapshotHeader header;
  RunConfig config;
  std::unique_ptr<Merger> merger;
  Status newer;  // why a newer one was not taken
};

/// On `threads` threads. DataLoss where it is damaged; errors as Merger::Create.
StatusOr<Loaded> LoadSnapshot(const std::string& path, int threads);

/// The rounds that the journal holds, and how many of them are committed.
struct Recorded {
  std::map<uint32_t, JournalRound> rounds;
  uint32_t committed = 0;
};

/// Those that the snapshot has count as committed.
Recorded ReadRounds(const ReplayStore& store, uint32_t snapshot_round);

using Replays = std::vector<std::unique_ptr<ChunkReplay>>;

/// Makes the recorded rounds again, all chunks side by side. `recorded` outlives what it gives.
StatusOr<Replays> Replay(Merger& merger, ReplayStore& store, const Recorded& recorded, int threads,
                         const Clock& clock);

/// The hashes of the base after the committed rounds, which must be the committed ones.
StatusOr<std::vector<Hash128>> CommittedBase(const Replays& chunks, const Recorded& recorded);

}  // namespace interlude
