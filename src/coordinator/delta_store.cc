#include "coordinator/delta_store.h"

#include <algorithm>
#include <filesystem>

#include "base/log.h"

namespace interlude {

std::vector<size_t> ChunkPayloadBytes(const Layout& layout, Codec codec) {
  std::vector<size_t> bytes(layout.num_chunks());
  for (uint32_t c = 0; c < layout.num_chunks(); ++c)
    bytes[c] = EncodedBytes(codec, layout.chunk(c).count);
  return bytes;
}

namespace {

JournalGeometry DeltaGeometry(const Layout& layout, Codec codec, const DeltaStoreOptions& options) {
  return {.chunk_bytes = ChunkPayloadBytes(layout, codec),
          .slots = options.workers,
          .kept_rounds = options.kept_rounds};
}

JournalGeometry SyncGeometry(const Layout& layout, Codec codec, const DeltaStoreOptions& options) {
  return {.chunk_bytes = ChunkPayloadBytes(layout, codec),
          .slots = 1,
          .kept_rounds = options.retained_syncs + 1};
}

bool Holds(const Journal& journal, uint32_t round) {
  const std::vector<uint32_t> rounds = journal.rounds();
  return std::binary_search(rounds.begin(), rounds.end(), round);
}

/// Sync deltas are made again from the deltas, so nothing is lost with them.
StatusOr<std::unique_ptr<Journal>> OpenSyncs(const std::string& directory,
                                             const JournalGeometry& geometry) {
  StatusOr<std::unique_ptr<Journal>> syncs = Journal::Open(directory, geometry);
  if (syncs.ok()) return syncs;
  LogWarning("the stored sync deltas cannot be used, they are made again: {}",
             syncs.status().message());
  return Journal::Create(directory, geometry);
}

Status BeginUnlessBegun(Journal& journal, uint32_t round) {
  return Holds(journal, round) ? OkStatus() : journal.BeginRound(round);
}

}  // namespace

StatusOr<std::unique_ptr<DeltaStore>> DeltaStore::Open(const std::string& run_directory,
                                                       const Layout& layout, Codec codec,
                                                       const DeltaStoreOptions& options) {
  INTERLUDE_ASSIGN_OR_RETURN(auto journal, Journal::Open(run_directory + "/journal",
                                                         DeltaGeometry(layout, codec, options)));
  INTERLUDE_ASSIGN_OR_RETURN(
      auto syncs, OpenSyncs(run_directory + "/syncs", SyncGeometry(layout, codec, options)));
  std::unique_ptr<DeltaStore> store(
      new DeltaStore(layout, codec, std::move(journal), std::move(syncs)));
  store->FindSealed();
  return store;
}

StatusOr<std::unique_ptr<DeltaStore>> DeltaStore::Create(const std::string& run_directory,
                                                         const Layout& layout, Codec codec,
                                                         const DeltaStoreOptions& options) {
  INTERLUDE_ASSIGN_OR_RETURN(auto journal, Journal::Create(run_directory + "/journal",
                                                           DeltaGeometry(layout, codec, options)));
  auto syncs = Journal::Create(run_directory + "/syncs", SyncGeometry(layout, codec, options));
  if (!syncs.ok()) {
    // A disk that is too small for both is not left filled with one.
    journal.reset();
    std::error_code ignored;
    std::filesystem::remove_all(run_directory + "/journal", ignored);
    return syncs.status();
  }
  return std::unique_ptr<DeltaStore>(
      new DeltaStore(layout, codec, std::move(journal), *std::move(syncs)));
}

DeltaStore::DeltaStore(const Layout& layout, Codec codec, std::unique_ptr<Journal> journal,
                       std::unique_ptr<Journal> syncs)
    : layout_(layout),
      codec_(codec),
      chunk_bytes_(ChunkPayloadBytes(layout, codec)),
      journal_(std::move(journal)),
      syncs_(std::move(syncs)) {}

Status DeltaStore::BeginRound(uint32_t round) {
  {
    MutexLock lock(mutex_);
    while (!sealed_.empty() && std::get<0>(*sealed_.begin()) + 1 < round)
      sealed_.erase(sealed_.begin());
  }
  INTERLUDE_RETURN_IF_ERROR(BeginUnlessBegun(*journal_, round));
  MutexLock lock(syncs_mutex_);
  return BeginUnlessBegun(*syncs_, round);
}

void DeltaStore::FindSealed() {
  const std::vector<uint32_t> rounds = journal_->rounds();
  for (auto round = rounds.rbegin(); round != rounds.rend() && round - rounds.rbegin() < 2;
       ++round) {
    for (uint32_t slot = 0; slot < journal_->geometry().slots; ++slot) {
      for (uint32_t chunk = 0; chunk < layout_.num_chunks(); ++chunk) {
        if (!journal_->SealedWhole(*round, slot, chunk)) continue;
        MutexLock lock(mutex_);
        sealed_.insert({*round, static_cast<WorkerId>(slot), chunk});
      }
    }
  }
}

bool DeltaStore::Sealed(uint32_t round, WorkerId worker, uint32_t chunk) const {
  MutexLock lock(mutex_);
  return sealed_.contains({round, worker, chunk});
}

Status DeltaStore::Write(uint32_t round, WorkerId worker, uint32_t chunk, uint64_t offset,
                         std::span<const std::byte> bytes) {
  if (Sealed(round, worker, chunk)) return OkStatus();
  return journal_->Write(round, static_cast<uint32_t>(worker), chunk, offset, bytes);
}

Status DeltaStore::Seal(uint32_t round, WorkerId worker, uint32_t chunk,
                        const Hash128& payload_hash) {
  if (Sealed(round, worker, chunk)) return OkStatus();
  // The worker may have come too late for the round.
  INTERLUDE_ASSIGN_OR_RETURN(const std::span<const std::byte> payload,
                             journal_->Find(round, static_cast<uint32_t>(worker), chunk));
  INTERLUDE_RETURN_IF_ERROR(ValidatePayload(codec_, payload, layout_.chunk(chunk).count)
                                .WithContext(fmt::format("delta from worker {}, round {}, chunk {}",
                                                         worker, round, chunk)));
  INTERLUDE_RETURN_IF_ERROR(
      journal_->Seal(round, static_cast<uint32_t>(worker), chunk, payload_hash));
  MutexLock lock(mutex_);
  sealed_.insert({round, worker, chunk});
  return OkStatus();
}

std::vector<uint32_t> DeltaStore::Missing(uint32_t round, WorkerId worker) const {
  std::vector<uint32_t> missing;
  MutexLock lock(mutex_);
  for (uint32_t chunk = 0; chunk < layout_.num_chunks(); ++chunk) {
    if (!sealed_.contains({round, worker, chunk})) missing.push_back(chunk);
  }
  return missing;
}

std::span<const std::byte> DeltaStore::Delta(uint32_t round, WorkerId worker,
                                             uint32_t chunk) const {
  return journal_->Read(round, static_cast<uint32_t>(worker), chunk);
}

std::span<std::byte> DeltaStore::MutableSync(uint32_t round, uint32_t chunk) {
  return syncs_->Mutable(round, 0, chunk);
}

Status DeltaStore::SealSync(uint32_t round, uint32_t chunk, const Hash128& payload_hash) {
  return syncs_->Seal(round, 0, chunk, payload_hash);
}

StatusOr<std::span<const std::byte>> DeltaStore::FindSync(uint32_t round, uint32_t chunk) const {
  StatusOr<std::span<const std::byte>> found = syncs_->Find(round, 0, chunk);
  if (!found.ok()) return NotFoundError("{}", found.status().message());
  return found;
}

Status DeltaStore::CopySync(uint32_t round, uint32_t chunk, std::span<std::byte> out) const {
  MutexLock lock(syncs_mutex_);
  INTERLUDE_ASSIGN_OR_RETURN(const std::span<const std::byte> payload, FindSync(round, chunk));
  std::ranges::copy(payload, out.begin());
  return OkStatus();
}

// ---- records and recovery ----

Status DeltaStore::SetMember(uint32_t round, WorkerId worker, uint64_t samples, uint64_t session,
                             uint32_t members) {
  return journal_->SetMember(round, static_cast<uint32_t>(worker),
                             {.samples = samples, .session = session, .flags = members});
}

Status DeltaStore::RecordMerge(const MergeOrder& order) {
  std::vector<uint32_t> slots;
  for (const Contributor& contributor : order.contributors)
    slots.push_back(static_cast<uint32_t>(contributor.worker));
  return journal_->RecordMerge(order.round, order.chunk, slots);
}

Status DeltaStore::RecordMerged(uint32_t round, uint32_t chunk, const Hash128& base_hash) {
  return journal_->RecordMerged(round, chunk, base_hash);
}

Status DeltaStore::RecordCommit(uint32_t round, const Hash128& root) {
  return journal_->RecordCommit(round, root);
}

std::vector<JournalRound> DeltaStore::Recorded() const { return RecordedIn(*journal_); }

StatusOr<std::vector<std::span<const std::byte>>> DeltaStore::WholeDeltas(
    const MergeOrder& order) const {
  return WholeDeltasIn(*journal_, order);
}

std::span<std::byte> DeltaStore::SyncPlace(uint32_t round, uint32_t chunk,
                                           std::vector<std::byte>& scratch) {
  if (Holds(*syncs_, round)) return syncs_->Mutable(round, 0, chunk);
  scratch.resize(chunk_bytes_[chunk]);
  return scratch;
}

std::optional<Hash128> DeltaStore::WholeSync(uint32_t round, uint32_t chunk) const {
  if (!Holds(*syncs_, round) || !syncs_->SealedWhole(round, 0, chunk)) return std::nullopt;
  return syncs_->SealOf(round, 0, chunk);
}

}  // namespace interlude
