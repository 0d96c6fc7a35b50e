#include "coordinator/recorded_run.h"

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "base/task_pool.h"

namespace interlude {

StatusOr<Loaded> LoadSnapshot(const std::string& path, int threads) {
  INTERLUDE_ASSIGN_OR_RETURN(const SnapshotReader reader, SnapshotReader::Open(path));
  Loaded loaded{.header = reader.header(), .config = {}, .merger = nullptr, .newer = {}};
  INTERLUDE_ASSIGN_OR_RETURN(loaded.config, ParseRunConfig(loaded.header.config, path));
  INTERLUDE_ASSIGN_OR_RETURN(loaded.merger, Merger::Create(reader.header().layout, loaded.config));
  TaskPool pool(threads);
  Mutex mutex;
  Status first_failure;
  for (uint32_t chunk = 0; chunk < loaded.header.layout.num_chunks(); ++chunk) {
    pool.Submit([&, chunk] {
      const ChunkArrays state = loaded.merger->StateOf(chunk);
      Status status = reader.ReadChunk(chunk, state.base, state.state, state.residual);
      if (status.ok()) {
        status = loaded.merger->Restore(chunk, reader.ChunkRound(chunk), reader.BaseHash(chunk));
      }
      MutexLock lock(mutex);
      if (first_failure.ok()) first_failure = status;
    });
  }
  pool.Drain();
  INTERLUDE_RETURN_IF_ERROR(first_failure.WithContext(path));
  return loaded;
}

Recorded ReadRounds(const ReplayStore& store, uint32_t snapshot_round) {
  Recorded recorded{.rounds = {}, .committed = snapshot_round};
  for (JournalRound& round : store.Recorded()) {
    // A round begins after the commit of the one before, also where a crash of the machine took
    // the record of that.
    const uint32_t committed = round.commit ? round.round : round.round - 1;
    recorded.committed = std::max(recorded.committed, committed);
    recorded.rounds.emplace(round.round, std::move(round));
  }
  return recorded;
}

StatusOr<Replays> Replay(Merger& merger, ReplayStore& store, const Recorded& recorded, int threads,
                         const Clock& clock) {
  Replays chunks;
  for (uint32_t chunk = 0; chunk < merger.layout().num_chunks(); ++chunk) {
    chunks.push_back(std::make_unique<ChunkReplay>(merger, store, recorded.rounds, chunk, clock));
  }
  Mutex mutex;
  Status first_failure;
  TaskPool pool(threads);
  for (const auto& chunk : chunks) {
    pool.Submit([&] {
      const Status status = chunk->Run(recorded.committed);
      MutexLock lock(mutex);
      if (first_failure.ok()) first_failure = status;
    });
  }
  pool.Drain();
  INTERLUDE_RETURN_IF_ERROR(first_failure);
  return chunks;
}

StatusOr<std::vector<Hash128>> CommittedBase(const Replays& chunks, const Recorded& recorded) {
  std::vector<Hash128> hashes;
  for (const auto& chunk : chunks) {
    const auto hash = chunk->base_hashes().find(recorded.committed);
    if (hash == chunk->base_hashes().end()) {
      return DataLossError(
          "round {} is committed, and what is in the journal does not lead chunk {} up to it",
          recorded.committed, hashes.size());
    }
    hashes.push_back(hash->second);
  }
  const auto last = recorded.rounds.find(recorded.committed);
  if (last == recorded.rounds.end() || !last->second.commit) return hashes;
  const Hash128 root = RootHash(hashes);
  if (root == last->second.commit->root) return hashes;
  return DataLossError("after {} rounds the base was made again with root {}; committed was {}",
                       recorded.committed, root.ToHex(), last->second.commit->root.ToHex());
}

}  // namespace interlude
