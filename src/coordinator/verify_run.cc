#include "coordinator/verify_run.h"

#include <utility>

#include "coordinator/delta_store.h"
#include "coordinator/merge_settings.h"
#include "coordinator/recorded_run.h"

namespace interlude {
namespace {

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

StatusOr<Verified> VerifyRun(const std::string& directory, int threads, const Clock& clock) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                             NewestSnapshots(directory + "/snapshots"));
  if (paths.empty()) {
    return NotFoundError("{} has no snapshot: no round of a run was merged in it", directory);
  }
  INTERLUDE_ASSIGN_OR_RETURN(auto journal, Journal::OpenReadOnly(directory + "/journal"));
  INTERLUDE_ASSIGN_OR_RETURN(const std::string path, SnapshotToVerify(paths, *journal));
  INTERLUDE_ASSIGN_OR_RETURN(const Loaded loaded, LoadSnapshot(path, threads));
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
