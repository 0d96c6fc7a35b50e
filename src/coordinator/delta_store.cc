#include "coordinator/delta_store.h"

#include <algorithm>
#include <filesystem>

namespace interlude {

std::vector<size_t> ChunkPayloadBytes(const Layout& layout, Codec codec) {
  std::vector<size_t> bytes(layout.num_chunks());
  for (uint32_t c = 0; c < layout.num_chunks(); ++c)
    bytes[c] = EncodedBytes(codec, layout.chunk(c).count);
  return bytes;
}

StatusOr<std::unique_ptr<DeltaStore>> DeltaStore::Create(const std::string& run_directory,
                                                         const Layout& layout, Codec codec,
                                                         uint32_t workers,
                                                         uint32_t retained_syncs) {
  JournalGeometry geometry{.chunk_bytes = ChunkPayloadBytes(layout, codec), .slots = workers};
  INTERLUDE_ASSIGN_OR_RETURN(auto journal, Journal::Create(run_directory + "/journal", geometry));
  geometry.slots = 1;
  geometry.kept_rounds = retained_syncs + 1;
  auto syncs = Journal::Create(run_directory + "/syncs", geometry);
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
  INTERLUDE_RETURN_IF_ERROR(journal_->BeginRound(round));
  MutexLock lock(syncs_mutex_);
  return syncs_->BeginRound(round);
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

}  // namespace interlude
