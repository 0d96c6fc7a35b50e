// Sending a round's payload, or the first base, to the coordinator; again from the kept payload
// where the line breaks or bytes are damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/hash128.h"
#include "base/status.h"
#include "ledger/recorder.h"
#include "wire/messages.h"
#include "wire/raw_piece.h"
#include "worker/bulk_link.h"

namespace interlude {

/// One upload. One thread.
class Uploader {
 public:
  struct Chunk {
    std::span<const std::byte> payload;
    Hash128 hash;
    /// gRPC may still read the payload when the upload has failed; none: it is copied.
    PayloadOwner owner;
  };
  /// Waits until the chunk is there; nothing when it never will be, and the upload is given up as
  /// Cancelled.
  using Provide = std::function<std::optional<Chunk>(uint32_t chunk)>;

  /// `timer` is charged for sending, not for waiting for chunks.
  Uploader(const BulkLink& link, PhaseTimer& timer) : link_(link), timer_(timer) {}

  /// Sends chunks 0 .. num_chunks - 1 and waits until the coordinator has stored all. After
  /// kBulkAttempts the last error. `header`'s worker and session are filled in.
  Status Send(UploadHeader header, uint32_t num_chunks, const Provide& provide);

  /// Payload bytes written, those of broken attempts too.
  uint64_t bytes() const { return bytes_; }
  uint32_t retries() const { return retries_; }

 private:
  Status Attempt(const UploadHeader& header, uint32_t num_chunks, const Provide& provide);

  const BulkLink& link_;
  PhaseTimer& timer_;
  uint64_t bytes_ = 0;
  uint32_t retries_ = 0;
};

}  // namespace interlude
