// Upload and download at the receiving end: which piece of which chunk may come next, and when a
// chunk is whole. Pure: it sees numbers, not bytes.
//
// A chunk's payload travels as pieces in order, offset by offset; chunks may come in any order but
// not interleaved within one stream. After a reconnect a chunk begins again at offset 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"

namespace interlude {

/// Most bytes one piece may carry.
inline constexpr size_t kMaxPieceBytes = size_t{1} << 20;

/// One stream's progress. One thread.
class PieceSequence {
 public:
  /// `chunk_bytes[i]` is the payload size of chunk i; `wanted` lists the chunks this stream is to
  /// bring (empty: all). Every size is above 0 and every wanted number is below the number of
  /// chunks: both come from the receiver's own layout, never from the other side.
  PieceSequence(std::vector<size_t> chunk_bytes, const std::vector<uint32_t>& wanted);

  struct Accepted {
    bool completes_chunk = false;
  };

  /// Checks one piece and counts it. The errors say what came and what was expected, and leave the
  /// state as it was: InvalidArgument for an unknown or unwanted chunk, an empty or oversized
  /// piece; OutOfRange for a piece beyond its chunk's end; DataLoss for a gap, an overlap or a
  /// switch of chunk before the last one was whole; AlreadyExists for a chunk that is whole. Where
  /// several apply, the first of: unknown, unwanted, size of the piece, end of the chunk, whole,
  /// switch, gap or overlap.
  StatusOr<Accepted> Accept(uint32_t chunk, uint64_t offset, size_t bytes);

  /// A whole chunk turned out damaged: it is wanted again, from offset 0.
  void Reopen(uint32_t chunk);

  /// All wanted chunks are whole.
  bool complete() const { return missing_ == 0; }
  uint32_t missing() const { return missing_; }

 private:
  enum class State : uint8_t { kUnwanted, kWanted, kWhole };
  Status Check(uint32_t chunk, uint64_t offset, size_t bytes) const;
  Status CheckOrder(uint32_t chunk, uint64_t offset) const;

  std::vector<size_t> chunk_bytes_;
  std::vector<State> states_;
  uint32_t missing_ = 0;
  int64_t open_chunk_ = -1;   // begun and not whole, or -1
  uint64_t open_offset_ = 0;  // where its next piece begins; 0 when none is begun
};

}  // namespace interlude
