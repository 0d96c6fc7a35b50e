#include "coordinator/recovery.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/log.h"
#include "base/task_pool.h"
#include "store/snapshot.h"

namespace interlude {
namespace {

/// Of one chunk, on its way from the snapshot to what the journal has last.
class ChunkReplay {
 public:
  ChunkReplay(Exchange& exchange, const std::map<uint32_t, JournalRound>& rounds, uint32_t chunk,
              const Clock& clock)
      : merger_(*exchange.merger),
        deltas_(*exchange.deltas),
        rounds_(rounds),
        chunk_(chunk),
        timer_(Phase::kMerge, kBeforeRounds, kNoWorker, clock) {}

  Status Run(uint32_t committed_rounds);

  const std::map<uint32_t, RecoveredSync>& syncs() const { return syncs_; }
  const std::map<uint32_t, Hash128>& base_hashes() const { return base_hashes_; }
  const std::vector<MergeOrder>& open_orders() const { return open_orders_; }
  uint64_t merges() const { return merges_; }

 private:
  StatusOr<MergeOrder> OrderOf(const JournalRound& round, const std::vector<uint32_t>& slots) const;
  Status Redo(const JournalRound& round, const MergeOrder& order);
  void KeepWhatIsThere(const JournalRound& round, const MergeOrder& order);

  Merger& merger_;
  DeltaStore& deltas_;
  const std::map<uint32_t, JournalRound>& rounds_;
  const uint32_t chunk_;
  PhaseTimer timer_;
  std::map<uint32_t, RecoveredSync> syncs_;
  std::map<uint32_t, Hash128> base_hashes_;  // after each round
  std::vector<MergeOrder> open_orders_;
  uint64_t merges_ = 0;
};

std::vector<WorkerId> WorkersOf(const MergeOrder& order) {
  std::vector<WorkerId> workers;
  for (const Contributor& contributor : order.contributors) workers.push_back(contributor.worker);
  return workers;
}

StatusOr<MergeOrder> ChunkReplay::OrderOf(const JournalRound& round,
                                          const std::vector<uint32_t>& slots) const {
  MergeOrder order{.round = round.round, .chunk = chunk_, .contributors = {}};
  for (const uint32_t slot : slots) {
    if (!round.members[slot] || round.members[slot]->samples == 0) {
      return DataLossError("round {}, chunk {}: worker {} is merged and is no member", round.round,
                           chunk_, slot);
    }
    order.contributors.push_back({static_cast<WorkerId>(slot), round.members[slot]->samples});
  }
  return order;
}

Status ChunkReplay::Run(uint32_t committed_rounds) {
  const uint32_t from = merger_.chunk_round(chunk_);
  base_hashes_[from] = merger_.chunk_hashes()[chunk_];
  for (const auto& [number, round] : rounds_) {
    const JournalChunk& record = round.chunks[chunk_];
    if (!record.merge) {
      if (number > committed_rounds) break;  // open, and this chunk of it was not merged
      if (number <= from) continue;
      return DataLossError("round {} is committed, and the merge of its chunk {} is not recorded",
                           number, chunk_);
    }
    INTERLUDE_ASSIGN_OR_RETURN(const MergeOrder order, OrderOf(round, *record.merge));
    if (number > committed_rounds) open_orders_.push_back(order);
    if (number <= from) {
      KeepWhatIsThere(round, order);
    } else {
      INTERLUDE_RETURN_IF_ERROR(Redo(round, order));
    }
  }
  return OkStatus();
}

Status ChunkReplay::Redo(const JournalRound& round, const MergeOrder& order) {
  if (round.round != merger_.chunk_round(chunk_) + 1) {
    return DataLossError("chunk {} stands after {} rounds, the next one in the journal is {}",
                         chunk_, merger_.chunk_round(chunk_), round.round);
  }
  INTERLUDE_ASSIGN_OR_RETURN(const auto payloads, deltas_.WholeDeltas(order));
  std::vector<std::byte> scratch;
  std::span<std::byte> sync = deltas_.SyncPlace(round.round, chunk_, scratch);
  INTERLUDE_ASSIGN_OR_RETURN(const ChunkHashes hashes,
                             merger_.MergeChunk(order, payloads, sync, timer_));
  const std::optional<Hash128>& recorded = round.chunks[chunk_].base_hash;
  if (recorded && *recorded != hashes.base) {
    return DataLossError(
        "round {}, chunk {} was made again with other bits: its base hashes to {}, before it was "
        "{}; was the coordinator restarted on other hardware or with another version?",
        round.round, chunk_, hashes.base.ToHex(), recorded->ToHex());
  }
  ++merges_;
  base_hashes_[round.round] = hashes.base;
  if (!scratch.empty()) return OkStatus();
  syncs_[round.round] = {hashes, WorkersOf(order)};
  return deltas_.SealSync(round.round, chunk_, hashes.payload);
}

/// The snapshot is further than this round; its sync delta may still lie where it was made.
void ChunkReplay::KeepWhatIsThere(const JournalRound& round, const MergeOrder& order) {
  const std::optional<Hash128>& base_hash = round.chunks[chunk_].base_hash;
  if (base_hash) base_hashes_[round.round] = *base_hash;
  const std::optional<Hash128> payload = deltas_.WholeSync(round.round, chunk_);
  if (!payload || !base_hash) return;
  syncs_[round.round] = {{.payload = *payload, .base = *base_hash}, WorkersOf(order)};
}

/// The newest snapshot that can be read, loaded into a merger.
struct Loaded {
  SnapshotHeader header;
  std::unique_ptr<Merger> merger;
};

StatusOr<Loaded> Load(const std::string& path, const RecoveryOptions& options) {
  INTERLUDE_ASSIGN_OR_RETURN(const SnapshotReader reader, SnapshotReader::Open(path));
  Loaded loaded{.header = reader.header(), .merger = nullptr};
  if (loaded.header.config != FormatRunConfig(options.config)) {
    return FailedPreconditionError("snapshot {} is of another configuration", path);
  }
  INTERLUDE_ASSIGN_OR_RETURN(loaded.merger, Merger::Create(reader.header().layout, options.config));
  TaskPool pool(options.threads);
  Mutex mutex;
  Status first_failure;
  for (uint32_t chunk = 0; chunk < loaded.header.layout.num_chunks(); ++chunk) {
    pool.Submit([&, chunk] {
      const Merger::ChunkState state = loaded.merger->StateOf(chunk);
      Status status = reader.ReadChunk(chunk, state.base, state.outer, state.residual);
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

StatusOr<std::optional<Loaded>> LoadNewest(const RecoveryOptions& options) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                             NewestSnapshots(options.directory + "/snapshots"));
  Status newest;
  for (const std::string& path : paths) {
    StatusOr<Loaded> loaded = Load(path, options);
    if (loaded.ok()) return std::optional<Loaded>(*std::move(loaded));
    if (loaded.status().code() != StatusCode::kDataLoss) return loaded.status();
    LogError("{}; looking for an older snapshot", loaded.status().message());
    if (newest.ok()) newest = loaded.status();
  }
  if (!newest.ok()) return newest;
  return std::optional<Loaded>();
}

/// The rounds that the journal holds, and how many of them are committed.
struct Recorded {
  std::map<uint32_t, JournalRound> rounds;
  uint32_t committed = 0;
};

Recorded ReadRounds(const DeltaStore& deltas, uint32_t snapshot_round) {
  Recorded recorded{.rounds = {}, .committed = snapshot_round};
  for (JournalRound& round : deltas.Recorded()) {
    if (round.commit) recorded.committed = std::max(recorded.committed, round.round);
    recorded.rounds.emplace(round.round, std::move(round));
  }
  // What is not followed by what came after it cannot be of use.
  while (!recorded.rounds.empty() && recorded.rounds.rbegin()->first > recorded.committed + 1) {
    recorded.rounds.erase(std::prev(recorded.rounds.end()));
  }
  return recorded;
}

Status CheckRoots(const Recorded& recorded, uint32_t committed_rounds,
                  const std::vector<Hash128>& base_hashes) {
  const auto last = recorded.rounds.find(committed_rounds);
  if (last == recorded.rounds.end() || !last->second.commit) return OkStatus();
  const Hash128 root = RootHash(base_hashes);
  if (root == last->second.commit->root) return OkStatus();
  return DataLossError("after {} rounds the base was made again with root {}; committed was {}",
                       committed_rounds, root.ToHex(), last->second.commit->root.ToHex());
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
}

/// Adds up what the chunks came to.
Status Gather(const std::vector<std::unique_ptr<ChunkReplay>>& chunks, RecoveredRun& run) {
  const auto num_chunks = static_cast<uint32_t>(chunks.size());
  for (uint32_t chunk = 0; chunk < num_chunks; ++chunk) {
    const ChunkReplay& replay = *chunks[chunk];
    const auto hash = replay.base_hashes().find(run.committed_rounds);
    if (hash == replay.base_hashes().end()) {
      return DataLossError("chunk {} cannot be followed to round {}", chunk, run.committed_rounds);
    }
    run.base_hashes.push_back(hash->second);
    for (const auto& [round, sync] : replay.syncs()) {
      run.syncs[round].resize(num_chunks);
      run.syncs[round][chunk] = sync;
    }
    run.open_orders.insert(run.open_orders.end(), replay.open_orders().begin(),
                           replay.open_orders().end());
    run.replayed_merges += replay.merges();
  }
  return OkStatus();
}

Status Replay(const RecoveryOptions& options, const Recorded& recorded, const Clock& clock,
              RecoveredRun& run) {
  std::vector<std::unique_ptr<ChunkReplay>> chunks;
  for (uint32_t chunk = 0; chunk < run.exchange->merger->layout().num_chunks(); ++chunk) {
    chunks.push_back(std::make_unique<ChunkReplay>(*run.exchange, recorded.rounds, chunk, clock));
  }
  Mutex mutex;
  Status first_failure;
  {
    TaskPool pool(options.threads);
    for (const auto& chunk : chunks) {
      pool.Submit([&] {
        const Status status = chunk->Run(run.committed_rounds);
        MutexLock lock(mutex);
        if (first_failure.ok()) first_failure = status;
      });
    }
    pool.Drain();
  }
  INTERLUDE_RETURN_IF_ERROR(first_failure);
  return Gather(chunks, run);
}

}  // namespace

DeltaStoreOptions StorageOf(const RunConfig& config, uint32_t workers) {
  return {.workers = workers,
          .kept_rounds = 2 * config.round.snapshot_every + 2,
          .retained_syncs = config.round.retained_syncs};
}

StatusOr<std::optional<RecoveredRun>> RecoverRun(const RecoveryOptions& options,
                                                 const Clock& clock) {
  INTERLUDE_ASSIGN_OR_RETURN(std::optional<Loaded> loaded, LoadNewest(options));
  if (!loaded) return std::optional<RecoveredRun>();
  RecoveredRun run;
  run.run_id = loaded->header.run_id;
  run.snapshot_round = loaded->header.round;
  run.exchange = std::make_shared<Exchange>();
  const Layout& layout = loaded->header.layout;
  INTERLUDE_ASSIGN_OR_RETURN(run.exchange->deltas,
                             DeltaStore::Open(options.directory, layout, CodecOf(options.config),
                                              StorageOf(options.config, options.workers)));
  run.exchange->base_chunk_bytes = ChunkPayloadBytes(layout, Codec::kFp32);
  run.exchange->merger = std::move(loaded->merger);
  const Recorded recorded = ReadRounds(*run.exchange->deltas, run.snapshot_round);
  run.committed_rounds = recorded.committed;
  INTERLUDE_RETURN_IF_ERROR(
      Replay(options, recorded, clock, run).WithContext("the run cannot be made again"));
  INTERLUDE_RETURN_IF_ERROR(CheckRoots(recorded, run.committed_rounds, run.base_hashes));
  run.root = RootHash(run.base_hashes);
  TakeOpenMembers(*run.exchange->deltas, recorded, run);
  return std::optional<RecoveredRun>(std::move(run));
}

}  // namespace interlude
