#include "coordinator/recovery.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "coordinator/recorded_run.h"

namespace interlude {
namespace {

/// The first of these that can be read; nothing when there are none.
StatusOr<std::optional<Loaded>> LoadFirst(const std::vector<std::string>& paths, int threads) {
  Status first_failure;
  for (const std::string& path : paths) {
    StatusOr<Loaded> loaded = LoadSnapshot(path, threads);
    if (loaded.ok()) {
      loaded->newer = first_failure;
      return std::optional<Loaded>(*std::move(loaded));
    }
    if (loaded.status().code() != StatusCode::kDataLoss) return loaded.status();
    LogError("{}; looking for another snapshot", loaded.status().message());
    if (first_failure.ok()) first_failure = loaded.status();
  }
  if (!first_failure.ok()) return first_failure;
  return std::optional<Loaded>();
}

void TakeOpenMembers(const DeltaStore& deltas, const Recorded& recorded, RecoveredRun& run) {
  const auto open = recorded.rounds.find(run.committed_rounds + 1);
  if (open == recorded.rounds.end()) return;
  const uint32_t num_chunks = run.exchange->merger->layout().num_chunks();
  for (uint32_t slot = 0; slot < open->second.members.size(); ++slot) {
    const std::optional<JournalMember>& member = open->second.members[slot];
    if (!member) continue;
    RecoveredMember recovered{.worker = static_cast<WorkerId>(slot),
                              .samples = member->samples,
                              .session = member->session,
                              .arrived = {}};
    const std::vector<uint32_t> missing = deltas.Missing(open->first, recovered.worker);
    for (uint32_t chunk = 0; chunk < num_chunks; ++chunk) {
      if (!std::binary_search(missing.begin(), missing.end(), chunk))
        recovered.arrived.push_back(chunk);
    }
    run.open_members.push_back(std::move(recovered));
  }
  // Cut off while it began: nobody was told of it.
  for (const std::optional<JournalMember>& member : open->second.members) {
    if (member && member->flags != run.open_members.size()) return run.open_members.clear();
  }
}

/// What the chunks came to besides the base.
void Gather(const Replays& chunks, RecoveredRun& run) {
  const auto num_chunks = static_cast<uint32_t>(chunks.size());
  for (uint32_t chunk = 0; chunk < num_chunks; ++chunk) {
    for (const auto& [round, sync] : chunks[chunk]->syncs()) {
      run.syncs[round].resize(num_chunks);
      run.syncs[round][chunk] = sync;
    }
    const std::vector<MergeOrder>& orders = chunks[chunk]->open_orders();
    run.open_orders.insert(run.open_orders.end(), orders.begin(), orders.end());
    run.replayed_merges += chunks[chunk]->merges();
  }
}

/// Without a snapshot nothing was merged, or the snapshots are gone.
Status CheckNothingMerged(const RecoveryOptions& options) {
  uint32_t merged = options.committed_rounds;
  if (const auto journal = Journal::OpenReadOnly(options.directory + "/journal"); journal.ok()) {
    for (const JournalRound& round : RecordedIn(**journal)) {
      const bool begun = std::ranges::any_of(
          round.chunks, [](const JournalChunk& chunk) { return chunk.merge.has_value(); });
      if (begun || round.commit) merged = std::max(merged, round.round);
    }
  }
  if (merged == 0) return OkStatus();
  return DataLossError("{} rounds were merged, and no snapshot is in {}/snapshots", merged,
                       options.directory);
}

StatusOr<std::unique_ptr<DeltaStore>> OpenDeltas(const RecoveryOptions& options,
                                                 const Layout& layout) {
  auto deltas = DeltaStore::Open(options.directory, layout, CodecOf(options.config),
                                 StorageOf(options.config, options.workers));
  if (deltas.status().code() != StatusCode::kNotFound) return deltas;
  return DataLossError("there are snapshots, but {}", deltas.status().message());
}

/// What follows on the snapshot.
Status Follow(const RecoveryOptions& options, const Clock& clock, RecoveredRun& run) {
  DeltaStore& deltas = *run.exchange->deltas;
  const Recorded recorded = ReadRounds(deltas, run.snapshot_round);
  run.committed_rounds = recorded.committed;
  if (recorded.committed < options.committed_rounds) {
    return DataLossError("snapshots and journal lead to round {} only, by run.db {} are committed",
                         recorded.committed, options.committed_rounds);
  }
  INTERLUDE_ASSIGN_OR_RETURN(const Replays chunks, Replay(*run.exchange->merger, deltas, recorded,
                                                          options.threads, clock));
  INTERLUDE_ASSIGN_OR_RETURN(run.base_hashes, CommittedBase(chunks, recorded));
  run.root = RootHash(run.base_hashes);
  Gather(chunks, run);
  TakeOpenMembers(deltas, recorded, run);
  return OkStatus();
}

StatusOr<std::optional<RecoveredRun>> Recover(const RecoveryOptions& options, const Clock& clock) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                             NewestSnapshots(options.directory + "/snapshots"));
  INTERLUDE_ASSIGN_OR_RETURN(std::optional<Loaded> loaded, LoadFirst(paths, options.threads));
  if (!loaded) {
    INTERLUDE_RETURN_IF_ERROR(CheckNothingMerged(options));
    return std::optional<RecoveredRun>();
  }
  if (loaded->header.config != FormatRunConfig(options.config)) {
    return FailedPreconditionError(
        "the snapshots in {} are of another configuration: start with the same one to go on, or "
        "choose another --dir",
        options.directory);
  }
  RecoveredRun run;
  run.run_id = loaded->header.run_id;
  run.snapshot_round = loaded->header.round;
  run.exchange = std::make_shared<Exchange>();
  INTERLUDE_ASSIGN_OR_RETURN(run.exchange->deltas, OpenDeltas(options, loaded->header.layout));
  run.exchange->base_chunk_bytes = ChunkPayloadBytes(loaded->header.layout, Codec::kFp32);
  run.exchange->merger = std::move(loaded->merger);
  const Status status = Follow(options, clock, run);
  if (status.code() == StatusCode::kDataLoss && !loaded->newer.ok())
    return DataLossError("{}; and {}", status.message(), loaded->newer.message());
  INTERLUDE_RETURN_IF_ERROR(status);
  return std::optional<RecoveredRun>(std::move(run));
}

}  // namespace

DeltaStoreOptions StorageOf(const RunConfig& config, uint32_t workers) {
  return {.workers = workers,
          .kept_rounds = 2 * config.round.snapshot_every + 2,
          .retained_syncs = config.round.retained_syncs};
}

StatusOr<std::optional<RecoveredRun>> RecoverRun(const RecoveryOptions& options,
                                                 const Clock& clock) {
  auto run = Recover(options, clock);
  if (run.status().code() != StatusCode::kDataLoss) return run;
  return DataLossError(
      "the run in {} cannot be gone on with: {}; put the directory back from a copy, or start anew "
      "with another --dir",
      options.directory, run.status().message());
}

}  // namespace interlude
