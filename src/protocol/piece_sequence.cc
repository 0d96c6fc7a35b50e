#include "protocol/piece_sequence.h"

#include <utility>

namespace interlude {

PieceSequence::PieceSequence(std::vector<size_t> chunk_bytes, const std::vector<uint32_t>& wanted)
    : chunk_bytes_(std::move(chunk_bytes)),
      states_(chunk_bytes_.size(), wanted.empty() ? State::kWanted : State::kUnwanted) {
  for (size_t i = 0; i < chunk_bytes_.size(); ++i) {
    INTERLUDE_CHECK(chunk_bytes_[i] > 0, "chunk {} is empty; it could never become whole", i);
  }
  for (const uint32_t chunk : wanted) {
    INTERLUDE_CHECK(chunk < states_.size(), "chunk {} wanted, there are {}", chunk, states_.size());
    states_[chunk] = State::kWanted;
  }
  for (const State state : states_) missing_ += state == State::kWanted ? 1 : 0;
}

Status PieceSequence::Check(uint32_t chunk, uint64_t offset, size_t bytes) const {
  if (chunk >= states_.size()) {
    return InvalidArgumentError("piece of chunk {}; the layout has {} chunk(s)", chunk,
                                states_.size());
  }
  if (states_[chunk] == State::kUnwanted) {
    return InvalidArgumentError("piece of chunk {}, which this stream was not to bring", chunk);
  }
  if (bytes == 0 || bytes > kMaxPieceBytes) {
    return InvalidArgumentError("piece of {} bytes in chunk {}; a piece has 1 to {} bytes", bytes,
                                chunk, kMaxPieceBytes);
  }
  const size_t size = chunk_bytes_[chunk];
  // Written so that no sum can overflow: both numbers come from the network.
  if (offset > size || bytes > size - offset) {
    return OutOfRangeError(
        "piece of {} bytes at offset {} ends beyond chunk {}, which has {} bytes", bytes, offset,
        chunk, size);
  }
  if (states_[chunk] == State::kWhole) {
    return AlreadyExistsError("piece at offset {} of chunk {}, which is whole already", offset,
                              chunk);
  }
  return CheckOrder(chunk, offset);
}

Status PieceSequence::CheckOrder(uint32_t chunk, uint64_t offset) const {
  if (open_chunk_ >= 0 && open_chunk_ != static_cast<int64_t>(chunk)) {
    return DataLossError("piece of chunk {} while chunk {} has {} of {} bytes; send its rest first",
                         chunk, open_chunk_, open_offset_,
                         chunk_bytes_[static_cast<size_t>(open_chunk_)]);
  }
  if (offset != open_offset_) {
    return DataLossError("piece at offset {} of chunk {}; the next one is at {}: {}", offset, chunk,
                         open_offset_,
                         offset > open_offset_ ? "a piece is missing" : "a piece came twice");
  }
  return OkStatus();
}

StatusOr<PieceSequence::Accepted> PieceSequence::Accept(uint32_t chunk, uint64_t offset,
                                                        size_t bytes) {
  INTERLUDE_RETURN_IF_ERROR(Check(chunk, offset, bytes));
  open_chunk_ = chunk;
  open_offset_ = offset + bytes;
  if (open_offset_ < chunk_bytes_[chunk]) return Accepted{.completes_chunk = false};
  states_[chunk] = State::kWhole;
  --missing_;
  open_chunk_ = -1;
  open_offset_ = 0;
  return Accepted{.completes_chunk = true};
}

void PieceSequence::Reopen(uint32_t chunk) {
  INTERLUDE_CHECK(chunk < states_.size() && states_[chunk] == State::kWhole,
                  "chunk {} is reopened and was not whole", chunk);
  states_[chunk] = State::kWanted;
  ++missing_;
}

}  // namespace interlude
