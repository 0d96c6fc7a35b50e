#include <fcntl.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "store/snapshot.h"
#include "store/snapshot_format.h"

namespace interlude {

StatusOr<SnapshotReader> SnapshotReader::Open(const std::string& path) {
  INTERLUDE_ASSIGN_OR_RETURN(FileDescriptor file, OpenFile(path, O_RDONLY));
  INTERLUDE_ASSIGN_OR_RETURN(const uint64_t file_bytes, FileSize(file, path));
  SnapshotReader reader(path, std::move(file), file_bytes);
  INTERLUDE_RETURN_IF_ERROR(reader.ReadHeader().WithContext(path));
  INTERLUDE_RETURN_IF_ERROR(reader.ReadHeads().WithContext(path));
  return reader;
}

/// Nothing is read, and no memory taken, for what the file cannot hold.
Status SnapshotReader::Read(uint64_t offset, std::span<std::byte> bytes) const {
  if (offset > file_bytes_ || bytes.size() > file_bytes_ - offset) {
    return DataLossError("the snapshot ends at byte {}, {} bytes from {} on are missing",
                         file_bytes_, bytes.size(), offset);
  }
  return ReadFullyAt(file_, offset, bytes, path_);
}

Status SnapshotReader::ReadHeader() {
  std::array<std::byte, kSnapshotPreambleBytes> bytes;
  INTERLUDE_RETURN_IF_ERROR(Read(0, bytes));
  INTERLUDE_ASSIGN_OR_RETURN(const SnapshotPreamble preamble, DecodeSnapshotPreamble(bytes));
  heads_begin_ = kSnapshotPreambleBytes + preamble.description_bytes;
  if (heads_begin_ > file_bytes_) {
    return DataLossError("the snapshot has {} bytes, its description would end at {}", file_bytes_,
                         heads_begin_);
  }
  std::vector<std::byte> description(preamble.description_bytes);
  INTERLUDE_RETURN_IF_ERROR(Read(kSnapshotPreambleBytes, description));
  INTERLUDE_ASSIGN_OR_RETURN(header_, DecodeSnapshotDescription(preamble, description));
  checks_.Update(std::span<const std::byte>(bytes).last(kSnapshotCheckBytes));
  return OkStatus();
}

Status SnapshotReader::ReadHeads() {
  const uint32_t num_chunks = header_.layout.num_chunks();
  if (uint64_t{num_chunks} * kSnapshotHeadBytes > file_bytes_) {
    return DataLossError("the snapshot has {} bytes, too few for {} chunks", file_bytes_,
                         num_chunks);
  }
  chunks_.reserve(num_chunks);
  uint64_t offset = heads_begin_;
  std::array<std::byte, kSnapshotHeadBytes> bytes;
  for (uint32_t c = 0; c < num_chunks; ++c) {
    INTERLUDE_RETURN_IF_ERROR(Read(offset, bytes));
    INTERLUDE_ASSIGN_OR_RETURN(const SnapshotHead head, DecodeSnapshotHead(bytes, c));
    checks_.Update(std::span<const std::byte>(bytes).last(kSnapshotCheckBytes));
    offset += kSnapshotHeadBytes;
    chunks_.push_back({.offset = offset,
                       .round = head.round,
                       .stored = head.stored,
                       .base_hash = head.base_hash,
                       .state_hash = head.state_hash,
                       .residual_hash = head.residual_hash});
    // At most 2^40 parameters of 18 values of 4 bytes: no sum overflows.
    const uint64_t part_bytes = header_.layout.chunk(c).count * sizeof(float);
    if (head.stored & kSnapshotBase) offset += part_bytes;
    if (head.stored & kSnapshotState) offset += part_bytes * header_.state_per_param;
    if (head.stored & kSnapshotResidual && header_.has_residual) offset += part_bytes;
  }
  return ReadEnd(offset);
}

Status SnapshotReader::ReadEnd(uint64_t offset) {
  if (offset + kSnapshotEndBytes != file_bytes_) {
    return DataLossError("the snapshot has {} bytes, by its chunks it should have {}", file_bytes_,
                         offset + kSnapshotEndBytes);
  }
  std::array<std::byte, kSnapshotEndBytes> bytes;
  INTERLUDE_RETURN_IF_ERROR(Read(offset, bytes));
  return CheckSnapshotEnd(bytes, file_bytes_, checks_.Digest());
}

Status SnapshotReader::ReadChunk(uint32_t chunk, std::span<float> base, std::span<float> state,
                                 std::span<float> residual) const {
  INTERLUDE_CHECK(chunk < chunks_.size(), "chunk {} of a snapshot of {}", chunk, chunks_.size());
  const size_t n = header_.layout.chunk(chunk).count;
  INTERLUDE_CHECK(base.size() == n && state.size() == n * header_.state_per_param &&
                      residual.size() == (header_.has_residual ? n : 0),
                  "chunk {} of {} parameters: base {}, state {}, residual {}", chunk, n,
                  base.size(), state.size(), residual.size());
  const Chunk& place = chunks_[chunk];
  uint64_t offset = place.offset;
  INTERLUDE_RETURN_IF_ERROR(
      ReadPart(chunk, "base", place.base_hash, place.stored & kSnapshotBase, offset, base));
  INTERLUDE_RETURN_IF_ERROR(
      ReadPart(chunk, "state", place.state_hash, place.stored & kSnapshotState, offset, state));
  return ReadPart(chunk, "residual", place.residual_hash, place.stored & kSnapshotResidual, offset,
                  residual);
}

Status SnapshotReader::ReadPart(uint32_t chunk, std::string_view name, const Hash128& hash,
                                bool stored, uint64_t& offset, std::span<float> out) const {
  if (stored) {
    INTERLUDE_RETURN_IF_ERROR(Read(offset, std::as_writable_bytes(out)));
    offset += out.size_bytes();
  } else {
    std::ranges::fill(out, 0.0f);
  }
  if (HashFloats(out) == hash) return OkStatus();
  return DataLossError("{}: the {} of chunk {} is damaged: its hash does not fit", path_, name,
                       chunk);
}

}  // namespace interlude
