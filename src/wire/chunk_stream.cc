#include "wire/chunk_stream.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace interlude {

bool SendChunk(uint32_t chunk, std::span<const std::byte> payload, const ChunkHashes& hashes,
               const WritePiece& write) {
  INTERLUDE_CHECK(!payload.empty(), "chunk {} has no payload", chunk);
  for (size_t offset = 0; offset < payload.size();) {
    const size_t bytes = std::min(kMaxPieceBytes, payload.size() - offset);
    v1::Piece piece;
    piece.set_chunk(chunk);
    piece.set_offset(offset);
    const std::span<const std::byte> part = payload.subspan(offset, bytes);
    offset += bytes;
    if (offset == payload.size()) {
      *piece.mutable_payload_hash() = ToProto(hashes.payload);
      if (hashes.base != Hash128{}) *piece.mutable_base_hash() = ToProto(hashes.base);
      piece.set_base_round(hashes.base_round);
      piece.set_dropped(hashes.dropped);
    }
    if (!write(piece, part)) return false;
  }
  return true;
}

ChunkReceiver::ChunkReceiver(std::vector<size_t> chunk_bytes, const std::vector<uint32_t>& wanted,
                             Store store)
    : sequence_(std::move(chunk_bytes), wanted), store_(std::move(store)) {}

StatusOr<std::optional<ChunkReceiver::Completed>> ChunkReceiver::Accept(const RawPiece& piece) {
  const v1::Piece& fields = piece.fields();
  INTERLUDE_ASSIGN_OR_RETURN(
      const PieceSequence::Accepted accepted,
      sequence_.Accept(fields.chunk(), fields.offset(), piece.payload_bytes()));
  if (fields.offset() == 0) hasher_ = Hasher128();
  for (const std::span<const std::byte> bytes : piece.payload()) hasher_.Update(bytes);
  INTERLUDE_RETURN_IF_ERROR(store_(fields.chunk(), fields.offset(), piece.payload()));
  if (!accepted.completes_chunk) return std::optional<Completed>();

  const ChunkHashes announced{.payload = FromProto(fields.payload_hash()),
                              .base = FromProto(fields.base_hash()),
                              .base_round = fields.base_round(),
                              .dropped = fields.dropped()};
  const Hash128 received = hasher_.Digest();
  if (received != announced.payload) {
    sequence_.Reopen(fields.chunk());
    return DataLossError(
        "chunk {} arrived with payload hash {}, but its sender announced {}; damaged on the way",
        fields.chunk(), received.ToHex(),
        fields.has_payload_hash() ? announced.payload.ToHex() : "none");
  }
  return std::optional<Completed>(Completed{.chunk = fields.chunk(), .hashes = announced});
}

}  // namespace interlude
