#include <cstring>

#include "base/check.h"
#include "store/snapshot.h"
#include "store/snapshot_format.h"

namespace interlude {
namespace {

/// Large enough to keep a disk busy, small against the memory of a machine.
constexpr uint64_t kWriteBehindBytes = uint64_t{32} << 20;

Status CheckHeader(const SnapshotHeader& header) {
  if (header.run_id.size() > kMaxSnapshotNameBytes ||
      header.software.size() > kMaxSnapshotNameBytes ||
      header.config.size() > kMaxSnapshotConfigBytes) {
    return InvalidArgumentError(
        "a snapshot with a run id of {} bytes, software of {}, configuration of {}; the limits are "
        "{}, {}, {}",
        header.run_id.size(), header.software.size(), header.config.size(), kMaxSnapshotNameBytes,
        kMaxSnapshotNameBytes, kMaxSnapshotConfigBytes);
  }
  if (header.state_per_param > kMaxSnapshotStatePerParam) {
    return InvalidArgumentError("a snapshot with {} state values a parameter; the limit is {}",
                                header.state_per_param, kMaxSnapshotStatePerParam);
  }
  if (header.layout.num_chunks() == 0) return InvalidArgumentError("a snapshot of an empty layout");
  return OkStatus();
}

/// Of the bytes: a negative zero is not left out.
bool AllZero(std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return bytes.empty() || (bytes[0] == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace

StatusOr<SnapshotWriter> SnapshotWriter::Create(const std::string& path,
                                                const SnapshotHeader& header) {
  INTERLUDE_RETURN_IF_ERROR(CheckHeader(header));
  const std::vector<std::byte> description = EncodeSnapshotDescription(header);
  const auto preamble = EncodeSnapshotPreamble({.round = header.round,
                                                .state_per_param = header.state_per_param,
                                                .has_residual = header.has_residual,
                                                .chunk_params = header.layout.chunk_params(),
                                                .description_bytes = description.size(),
                                                .description_hash = HashBytes(description),
                                                .signature = header.layout.signature()});
  INTERLUDE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path, kWriteBehindBytes));
  SnapshotWriter writer(std::move(file), header.layout, header.state_per_param,
                        header.has_residual);
  INTERLUDE_RETURN_IF_ERROR(writer.Write(preamble));
  writer.checks_.Update(std::span<const std::byte>(preamble).last(kSnapshotCheckBytes));
  INTERLUDE_RETURN_IF_ERROR(writer.Write(description));
  return writer;
}

Status SnapshotWriter::Append(const SnapshotChunk& chunk) {
  INTERLUDE_CHECK(chunk.chunk == next_chunk_ && next_chunk_ < layout_.num_chunks(),
                  "chunk {} is next in the snapshot, not {}", next_chunk_, chunk.chunk);
  const size_t n = layout_.chunk(chunk.chunk).count;
  INTERLUDE_CHECK(chunk.base.size() == n && chunk.state.size() == n * state_per_param_ &&
                      chunk.residual.size() == (has_residual_ ? n : 0),
                  "chunk {} of {} parameters: base {}, state {}, residual {}", chunk.chunk, n,
                  chunk.base.size(), chunk.state.size(), chunk.residual.size());
  SnapshotHead head{.chunk = chunk.chunk,
                    .round = chunk.round,
                    .base_hash = HashFloats(chunk.base),
                    .state_hash = HashFloats(chunk.state),
                    .residual_hash = HashFloats(chunk.residual)};
  if (head.base_hash != chunk.base_hash) {
    return FailedPreconditionError("chunk {} after round {}: its base has hash {}, not {}",
                                   chunk.chunk, chunk.round, head.base_hash.ToHex(),
                                   chunk.base_hash.ToHex());
  }
  if (!AllZero(chunk.base)) head.stored |= kSnapshotBase;
  if (!AllZero(chunk.state)) head.stored |= kSnapshotState;
  if (!AllZero(chunk.residual)) head.stored |= kSnapshotResidual;
  const auto bytes = EncodeSnapshotHead(head);
  INTERLUDE_RETURN_IF_ERROR(Write(bytes));
  checks_.Update(std::span<const std::byte>(bytes).last(kSnapshotCheckBytes));
  if (head.stored & kSnapshotBase) INTERLUDE_RETURN_IF_ERROR(Write(std::as_bytes(chunk.base)));
  if (head.stored & kSnapshotState) INTERLUDE_RETURN_IF_ERROR(Write(std::as_bytes(chunk.state)));
  if (head.stored & kSnapshotResidual)
    INTERLUDE_RETURN_IF_ERROR(Write(std::as_bytes(chunk.residual)));
  ++next_chunk_;
  return OkStatus();
}

Status SnapshotWriter::Commit() {
  INTERLUDE_CHECK(next_chunk_ == layout_.num_chunks(), "the snapshot has {} of {} chunks",
                  next_chunk_, layout_.num_chunks());
  INTERLUDE_RETURN_IF_ERROR(
      Write(EncodeSnapshotEnd(written_bytes_ + kSnapshotEndBytes, checks_.Digest())));
  return file_.Commit();
}

Status SnapshotWriter::Write(std::span<const std::byte> bytes) {
  written_bytes_ += bytes.size();
  return file_.Write(bytes);
}

}  // namespace interlude
