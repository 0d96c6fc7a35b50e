// Chunks through a gRPC stream as pieces: cutting at the sending end, checking, hashing and placing
// at the receiving end. How a piece becomes bytes on the wire: raw_piece.h.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/hash128.h"
#include "base/status.h"
#include "protocol/piece_sequence.h"
#include "wire/convert.h"
#include "wire/raw_piece.h"

namespace interlude {

/// A chunk's hashes, as its last piece carries them, and what base the hash is of.
struct ChunkHashes {
  Hash128 payload;
  Hash128 base;             // download only
  uint32_t base_round = 0;  // download of the base only: after how many rounds it stands
  bool dropped = false;     // download of a sync delta only: the receiver's delta is not in it
};

/// Sends one piece: its fields but the payload, and the payload.
using WritePiece = std::function<bool(v1::Piece& fields, std::span<const std::byte> payload)>;

/// Cuts one chunk's payload into pieces of at most kMaxPieceBytes and hands each to `write` in
/// order. Stops and returns false when `write` does (the stream is broken). The payload is not
/// empty.
bool SendChunk(uint32_t chunk, std::span<const std::byte> payload, const ChunkHashes& hashes,
               const WritePiece& write);

/// Receives one stream's chunks. A chunk's payload is hashed as its pieces come, while they are in
/// cache. One thread.
class ChunkReceiver {
 public:
  /// Where bytes go: called for each checked piece in order. They are gRPC's and gone afterwards.
  using Store = std::function<Status(uint32_t chunk, uint64_t offset, ByteSpans bytes)>;

  ChunkReceiver(std::vector<size_t> chunk_bytes, const std::vector<uint32_t>& wanted, Store store);

  struct Completed {
    uint32_t chunk = 0;
    ChunkHashes hashes;
  };

  /// Takes one piece. Nothing until a chunk is whole and its payload hash right; then which, and
  /// its hashes. Errors as PieceSequence::Accept; DataLoss when the payload's hash differs from the
  /// announced (the chunk is wanted again); those of Store.
  StatusOr<std::optional<Completed>> Accept(const RawPiece& piece);

  bool complete() const { return sequence_.complete(); }
  uint32_t missing() const { return sequence_.missing(); }

 private:
  PieceSequence sequence_;
  Store store_;
  Hasher128 hasher_;  // of the chunk that is coming, up to where it has come
};

}  // namespace interlude
