// Bringing chunks from the coordinator, again where the line breaks. What is done with them is the
// caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "ledger/recorder.h"
#include "wire/chunk_stream.h"
#include "worker/bulk_link.h"

namespace interlude {

/// One download. One thread.
class ChunkDownload {
 public:
  /// Where a chunk's payload is put together.
  using Stage = std::function<std::span<std::byte>(uint32_t chunk)>;
  /// A whole chunk lies in its stage and its payload hash is right. An error counts as a failed
  /// attempt.
  using Deliver = std::function<Status(const ChunkReceiver::Completed& completed)>;

  /// `timer` is charged from the arrival of the first piece on: what comes before is waiting.
  ChunkDownload(const BulkLink& link, DownloadKind kind, uint32_t round,
                std::vector<size_t> chunk_bytes, const Clock& clock, PhaseTimer& timer);

  /// Brings `wanted` (in that order; each below the number of chunks, none twice). A chunk is
  /// delivered once; a broken download begins again at the first chunk that was not. The last error
  /// when RetryPolicy gives up.
  Status Fetch(const std::vector<uint32_t>& wanted, const Stage& stage, const Deliver& deliver);

  /// When the first piece came.
  std::optional<Nanoseconds> first_piece() const { return first_piece_; }
  uint64_t bytes() const { return bytes_; }
  /// Attempts beyond the first.
  uint32_t retries() const { return retries_; }

 private:
  Status Attempt(std::vector<uint32_t>& missing, const Stage& stage, const Deliver& deliver);
  /// The next message; false when there are no more.
  bool Read(PieceReader& reader, grpc::ByteBuffer& message);

  const BulkLink& link_;
  const DownloadKind kind_;
  const uint32_t round_;
  const std::vector<size_t> chunk_bytes_;
  const Clock& clock_;
  PhaseTimer& timer_;
  std::optional<Nanoseconds> first_piece_;
  uint64_t bytes_ = 0;
  uint32_t retries_ = 0;
};

}  // namespace interlude
