#include "coordinator/delta_store.h"

namespace interlude {

std::vector<size_t> ChunkPayloadBytes(const Layout& layout, Codec codec) {
  std::vector<size_t> bytes(layout.num_chunks());
  for (uint32_t c = 0; c < layout.num_chunks(); ++c)
    bytes[c] = EncodedBytes(codec, layout.chunk(c).count);
  return bytes;
}

StatusOr<std::unique_ptr<DeltaStore>> DeltaStore::Create(const std::string& run_directory,
                                                         const Layout& layout, Codec codec,
                                                         uint32_t workers) {
  JournalGeometry geometry;
  geometry.chunk_bytes = ChunkPayloadBytes(layout, codec);
  geometry.slots = workers + 1;
  INTERLUDE_ASSIGN_OR_RETURN(auto journal, Journal::Create(run_directory, geometry));
  return std::unique_ptr<DeltaStore>(new DeltaStore(layout, codec, workers, std::move(journal)));
}

DeltaStore::DeltaStore(const Layout& layout, Codec codec, uint32_t workers,
                       std::unique_ptr<Journal> journal)
    : layout_(layout),
      codec_(codec),
      sync_slot_(workers),
      chunk_bytes_(ChunkPayloadBytes(layout, codec)),
      journal_(std::move(journal)) {}

Status DeltaStore::BeginRound(uint32_t round) {
  {
    MutexLock lock(mutex_);
    while (!sealed_.empty() && std::get<0>(*sealed_.begin()) + 1 < round)
      sealed_.erase(sealed_.begin());
  }
  return journal_->BeginRound(round);
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

std::span<const std::byte> DeltaStore::Delta(uint32_t round, WorkerId worker,
                                             uint32_t chunk) const {
  return journal_->Read(round, static_cast<uint32_t>(worker), chunk);
}

std::span<std::byte> DeltaStore::MutableSync(uint32_t round, uint32_t chunk) {
  return journal_->Mutable(round, sync_slot_, chunk);
}

Status DeltaStore::SealSync(uint32_t round, uint32_t chunk, const Hash128& payload_hash) {
  return journal_->Seal(round, sync_slot_, chunk, payload_hash);
}

std::span<const std::byte> DeltaStore::Sync(uint32_t round, uint32_t chunk) const {
  return journal_->Read(round, sync_slot_, chunk);
}

StatusOr<std::span<const std::byte>> DeltaStore::FindSync(uint32_t round, uint32_t chunk) const {
  return journal_->Find(round, sync_slot_, chunk);
}

}  // namespace interlude
