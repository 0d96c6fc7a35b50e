#include "coordinator/replay.h"

#include <utility>

namespace interlude {
namespace {

std::vector<WorkerId> WorkersOf(const MergeOrder& order) {
  std::vector<WorkerId> workers;
  for (const Contributor& contributor : order.contributors) workers.push_back(contributor.worker);
  return workers;
}

}  // namespace

std::vector<JournalRound> RecordedIn(const Journal& journal) {
  std::vector<JournalRound> recorded;
  for (const uint32_t round : journal.rounds()) recorded.push_back(journal.Inspect(round));
  return recorded;
}

StatusOr<std::vector<std::span<const std::byte>>> WholeDeltasIn(const Journal& journal,
                                                                const MergeOrder& order) {
  std::vector<std::span<const std::byte>> payloads;
  for (const Contributor& contributor : order.contributors) {
    const auto slot = static_cast<uint32_t>(contributor.worker);
    if (!journal.SealedWhole(order.round, slot, order.chunk)) {
      return DataLossError(
          "journal: round {}, chunk {}, worker {}: the payload is not what was received; the disk "
          "may be damaged",
          order.round, order.chunk, contributor.worker);
    }
    payloads.push_back(journal.Read(order.round, slot, order.chunk));
  }
  return payloads;
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
  INTERLUDE_ASSIGN_OR_RETURN(const auto payloads, store_.WholeDeltas(order));
  std::vector<std::byte> scratch;
  std::span<std::byte> sync = store_.SyncPlace(round.round, chunk_, scratch);
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
  return store_.SealSync(round.round, chunk_, hashes.payload);
}

/// The snapshot is further than this round; its sync delta may still lie where it was made.
void ChunkReplay::KeepWhatIsThere(const JournalRound& round, const MergeOrder& order) {
  const std::optional<Hash128>& base_hash = round.chunks[chunk_].base_hash;
  if (base_hash) base_hashes_[round.round] = *base_hash;
  const std::optional<Hash128> payload = store_.WholeSync(round.round, chunk_);
  if (!payload || !base_hash) return;
  syncs_[round.round] = {{.payload = *payload, .base = *base_hash}, WorkersOf(order)};
}

}  // namespace interlude
