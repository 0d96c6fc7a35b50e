#include "coordinator/recovery.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/log.h"
#include "base/task_pool.h"
#include "store/snapshot.h"

namespace interlude {
namespace {

/// The newest snapshot that can be read, loaded into a merger.
struct Loaded {
  SnapshotHeader header;
  RunConfig config;
  std::unique_ptr<Merger> merger;
  Status newer;  // why a newer one was not taken
};

StatusOr<Loaded> Load(const std::string& path, int threads) {
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

/// The first of these that can be read; nothing when there are none.
StatusOr<std::optional<Loaded>> LoadFirst(const std::vector<std::string>& paths, int threads) {
  Status first_failure;
  for (const std::string& path : paths) {
    StatusOr<Loaded> loaded = Load(path, threads);
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

/// The rounds that the journal holds, and how many of them are committed.
struct Recorded {
  std::map<uint32_t, JournalRound> rounds;
  uint32_t committed = 0;
};

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

using Replays = std::vector<std::unique_ptr<ChunkReplay>>;

/// All chunks side by side.
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

/// The hashes of the base after the committed rounds, which must be the committed ones.
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

/// A journal that is only looked at.
class ReadOnlyDeltas final : public ReplayStore {
 public:
  explicit ReadOnlyDeltas(std::unique_ptr<const Journal> journal) : journal_(std::move(journal)) {}
  std::vector<JournalRound> Recorded() const override { return RecordedIn(*journal_); }
  StatusOr<std::vector<std::span<const std::byte>>> WholeDeltas(
      const MergeOrder& order) const override {
    return WholeDeltasIn(*journal_, order);
  }
  std::span<std::byte> SyncPlace(uint32_t, uint32_t chunk,
                                 std::vector<std::byte>& scratch) override {
    scratch.resize(journal_->geometry().chunk_bytes[chunk]);
    return scratch;
  }
  Status SealSync(uint32_t, uint32_t, const Hash128&) override { return OkStatus(); }
  std::optional<Hash128> WholeSync(uint32_t, uint32_t) const override { return std::nullopt; }

 private:
  const std::unique_ptr<const Journal> journal_;
};

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

/// Reads all of it.
Status CheckWhole(const SnapshotReader& reader) {
  const Layout& layout = reader.header().layout;
  std::vector<float> base;
  std::vector<float> state;
  std::vector<float> residual;
  for (uint32_t chunk = 0; chunk < layout.num_chunks(); ++chunk) {
    const size_t count = layout.chunk(chunk).count;
    base.resize(count);
    state.resize(count * reader.header().state_per_param);
    residual.resize(reader.header().has_residual ? count : 0);
    INTERLUDE_RETURN_IF_ERROR(reader.ReadChunk(chunk, base, state, residual));
  }
  return OkStatus();
}

/// Whether the journal has all that came after the snapshot.
bool LeadsOn(const Journal& journal, const SnapshotReader& reader) {
  const std::vector<uint32_t> rounds = journal.rounds();
  for (uint32_t chunk = 0; chunk < reader.header().layout.num_chunks(); ++chunk) {
    if (!rounds.empty() && reader.ChunkRound(chunk) + 1 < rounds.front()) return false;
  }
  return true;
}

/// Of snapshots that are all whole, from the newest on, the oldest from which the journal leads on;
/// the newest where it does from none.
StatusOr<std::string> SnapshotToVerify(const std::vector<std::string>& paths,
                                       const Journal& journal) {
  std::string oldest = paths.front();
  for (const std::string& path : paths) {
    INTERLUDE_ASSIGN_OR_RETURN(const SnapshotReader reader, SnapshotReader::Open(path));
    INTERLUDE_RETURN_IF_ERROR(CheckWhole(reader).WithContext(path));
    if (LeadsOn(journal, reader)) oldest = path;
  }
  return oldest;
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

StatusOr<Verified> VerifyRun(const std::string& directory, int threads, const Clock& clock) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                             NewestSnapshots(directory + "/snapshots"));
  if (paths.empty()) {
    return NotFoundError("{} has no snapshot: no round of a run was merged in it", directory);
  }
  INTERLUDE_ASSIGN_OR_RETURN(auto journal, Journal::OpenReadOnly(directory + "/journal"));
  INTERLUDE_ASSIGN_OR_RETURN(const std::string path, SnapshotToVerify(paths, *journal));
  INTERLUDE_ASSIGN_OR_RETURN(const Loaded loaded, Load(path, threads));
  if (journal->geometry().chunk_bytes !=
      ChunkPayloadBytes(loaded.header.layout, CodecOf(loaded.config))) {
    return DataLossError("the journal in {} belongs to another model than the snapshots",
                         directory);
  }
  ReadOnlyDeltas deltas(std::move(journal));
  const Recorded recorded = ReadRounds(deltas, loaded.header.round);
  INTERLUDE_ASSIGN_OR_RETURN(const Replays chunks,
                             Replay(*loaded.merger, deltas, recorded, threads, clock));
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<Hash128> hashes, CommittedBase(chunks, recorded));
  Verified verified{.run_id = loaded.header.run_id,
                    .snapshot_round = loaded.header.round,
                    .committed_rounds = recorded.committed,
                    .merges = 0,
                    .root = RootHash(hashes)};
  for (const auto& chunk : chunks) verified.merges += chunk->merges();
  return verified;
}

}  // namespace interlude
