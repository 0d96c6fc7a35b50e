// Chunks through a gRPC stream as pieces: cutting at the sending end, checking and placing at the
// receiving end. The only file besides convert.h that touches payload bytes on the wire; carrying
// them as raw slices later changes nothing outside.
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

namespace interlude {

/// A chunk's hashes, as its last piece carries them.
struct ChunkHashes {
  Hash128 payload;
  Hash128 base;  // download only
};

/// Cuts one chunk's payload into pieces of at most kMaxPieceBytes and hands each to `write` in
/// order. Stops and returns false when `write` does (the stream is broken). The payload is not
/// empty.
bool SendChunk(uint32_t chunk, std::span<const std::byte> payload, const ChunkHashes& hashes,
               const std::function<bool(v1::Piece&&)>& write);

/// Receives one stream's chunks.
class ChunkReceiver {
 public:
  /// Where bytes go: called for each checked piece in order.
  using Store =
      std::function<Status(uint32_t chunk, uint64_t offset, std::span<const std::byte> bytes)>;
  /// Reads back a whole stored chunk, to hash it.
  using Load = std::function<std::span<const std::byte>(uint32_t chunk)>;

  ChunkReceiver(std::vector<size_t> chunk_bytes, const std::vector<uint32_t>& wanted, Store store,
                Load load);

  struct Completed {
    uint32_t chunk = 0;
    ChunkHashes hashes;
  };

  /// Takes one piece. Nothing until a chunk is whole and its payload hash right; then which, and
  /// its hashes. Errors as PieceSequence::Accept; DataLoss when the payload's hash differs from the
  /// announced (the chunk is wanted again); those of Store.
  StatusOr<std::optional<Completed>> Accept(const v1::Piece& piece);

  bool complete() const { return sequence_.complete(); }
  uint32_t missing() const { return sequence_.missing(); }

 private:
  PieceSequence sequence_;
  Store store_;
  Load load_;
};

}  // namespace interlude
