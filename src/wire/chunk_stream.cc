#include "wire/chunk_stream.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace interlude {

bool SendChunk(uint32_t chunk, std::span<const std::byte> payload, const ChunkHashes& hashes,
               const std::function<bool(v1::Piece&&)>& write) {
  INTERLUDE_CHECK(!payload.empty(), "chunk {} has no payload", chunk);
  for (size_t offset = 0; offset < payload.size();) {
    const size_t bytes = std::min(kMaxPieceBytes, payload.size() - offset);
    v1::Piece piece;
    piece.set_chunk(chunk);
    piece.set_offset(offset);
    piece.set_payload(payload.data() + offset, bytes);
    offset += bytes;
    if (offset == payload.size()) {
      *piece.mutable_payload_hash() = ToProto(hashes.payload);
      if (hashes.base != Hash128{}) *piece.mutable_base_hash() = ToProto(hashes.base);
    }
    if (!write(std::move(piece))) return false;
  }
  return true;
}

ChunkReceiver::ChunkReceiver(std::vector<size_t> chunk_bytes, const std::vector<uint32_t>& wanted,
                             Store store, Load load)
    : sequence_(std::move(chunk_bytes), wanted), store_(std::move(store)), load_(std::move(load)) {}

StatusOr<std::optional<ChunkReceiver::Completed>> ChunkReceiver::Accept(const v1::Piece& piece) {
  const std::string& payload = piece.payload();
  INTERLUDE_ASSIGN_OR_RETURN(const PieceSequence::Accepted accepted,
                             sequence_.Accept(piece.chunk(), piece.offset(), payload.size()));
  INTERLUDE_RETURN_IF_ERROR(
      store_(piece.chunk(), piece.offset(), std::as_bytes(std::span(payload))));
  if (!accepted.completes_chunk) return std::optional<Completed>();

  const ChunkHashes announced{.payload = FromProto(piece.payload_hash()),
                              .base = FromProto(piece.base_hash())};
  const Hash128 received = HashBytes(load_(piece.chunk()));
  if (received != announced.payload) {
    sequence_.Reopen(piece.chunk());
    return DataLossError(
        "chunk {} arrived with payload hash {}, but its sender announced {}; damaged on the way",
        piece.chunk(), received.ToHex(),
        piece.has_payload_hash() ? announced.payload.ToHex() : "none");
  }
  return std::optional<Completed>(Completed{.chunk = piece.chunk(), .hashes = announced});
}

}  // namespace interlude
