// A stream of pieces in any order, with any numbers: what is stored lies within its chunk, and a
// chunk counts as whole when exactly its bytes have come. Ten bytes of input are one piece.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "wire/chunk_stream.h"

namespace interlude {
namespace {

constexpr size_t kPieceInputBytes = 10;

/// The receiver's own memory, and by its side what is to be true of it.
class Chunks {
 public:
  explicit Chunks(const std::vector<uint32_t>& wanted)
      : wanted_(wanted),
        receiver_({96, 1, 300}, wanted, [this](uint32_t chunk, uint64_t offset, ByteSpans bytes) {
          return Store(chunk, offset, bytes);
        }) {}

  void Take(std::span<const uint8_t, kPieceInputBytes> input) {
    v1::Piece piece;
    piece.set_chunk(input[0] % 4);
    uint16_t bytes = 0;
    std::memcpy(&bytes, &input[2], sizeof(bytes));
    bytes %= 512;
    piece.set_payload(std::string(bytes, static_cast<char>(input[1])));
    // Anywhere, or where the last accepted piece ended.
    uint64_t offset = 0;
    std::memcpy(&offset, &input[4], 5);
    piece.set_offset((input[9] & 1) != 0 ? next_ : offset);
    if ((input[9] & 2) != 0) *piece.mutable_payload_hash() = ToProto(HashWith(piece));
    const RawPiece raw(std::move(piece));
    Check(raw.fields().chunk(), receiver_.Accept(raw));
  }

 private:
  void Check(uint32_t chunk, const StatusOr<std::optional<ChunkReceiver::Completed>>& accepted) {
    if (!accepted.ok()) {
      if (accepted.status().code() == StatusCode::kDataLoss && stored_to_end_) next_ = 0;
    } else if (accepted->has_value()) {
      const ChunkReceiver::Completed& done = **accepted;
      INTERLUDE_CHECK(done.chunk == chunk && !whole_[chunk], "chunk {} whole again", chunk);
      INTERLUDE_CHECK(HashBytes(memory_[chunk]) == done.hashes.payload, "chunk {}", chunk);
      whole_[chunk] = true;
      next_ = 0;
    }
    stored_to_end_ = false;
    size_t missing = 0;
    for (const uint32_t c : wanted_) missing += whole_[c] ? 0 : 1;
    INTERLUDE_CHECK(receiver_.missing() == missing, "{} missing", receiver_.missing());
    INTERLUDE_CHECK(receiver_.complete() == (missing == 0), "complete with {} missing", missing);
  }

  Status Store(uint32_t chunk, uint64_t offset, ByteSpans bytes) {
    size_t size = 0;
    for (const auto& span : bytes) size += span.size();
    INTERLUDE_CHECK(chunk < memory_.size() && !whole_[chunk], "chunk {}", chunk);
    INTERLUDE_CHECK(size > 0 && offset + size <= memory_[chunk].size(), "{} bytes at {} of {}",
                    size, offset, chunk);
    CopySpans(bytes, memory_[chunk].data() + offset);
    next_ = offset + size;
    stored_to_end_ = next_ == memory_[chunk].size();
    return OkStatus();
  }

  /// Of the chunk as it is when this piece is stored.
  Hash128 HashWith(const v1::Piece& piece) const {
    if (piece.chunk() >= memory_.size()) return {};
    std::vector<std::byte> bytes = memory_[piece.chunk()];
    if (piece.offset() > bytes.size() || piece.payload().size() > bytes.size() - piece.offset())
      return {};
    std::ranges::copy(std::as_bytes(std::span(piece.payload())),
                      bytes.begin() + static_cast<ptrdiff_t>(piece.offset()));
    return HashBytes(bytes);
  }

  const std::vector<uint32_t> wanted_;
  std::vector<std::vector<std::byte>> memory_ = {
      std::vector<std::byte>(96), std::vector<std::byte>(1), std::vector<std::byte>(300)};
  std::vector<bool> whole_ = std::vector<bool>(3);
  uint64_t next_ = 0;  // where the last piece that was stored ended
  bool stored_to_end_ = false;
  ChunkReceiver receiver_;
};

}  // namespace
}  // namespace interlude

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::vector<uint32_t> wanted;
  for (uint32_t c = 0; c < 3; ++c) {
    if ((data[0] & (1u << c)) != 0) wanted.push_back(c);
  }
  if (wanted.empty()) wanted = {0, 1, 2};  // as the receiver takes an empty list
  interlude::Chunks chunks(wanted);
  std::span<const uint8_t> rest(data + 1, size - 1);
  for (; rest.size() >= interlude::kPieceInputBytes;
       rest = rest.subspan(interlude::kPieceInputBytes))
    chunks.Take(rest.first<interlude::kPieceInputBytes>());
  return 0;
}
