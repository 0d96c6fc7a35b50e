// Sending a round's payload, or the first base, to the coordinator; again from the kept payload
// where the line breaks or bytes are damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

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

  /// Sends chunks 0 .. num_chunks - 1 and waits until the coordinator has stored all. A broken
  /// upload of a delta goes on with the chunks that the coordinator says it lacks. The last error
  /// when RetryPolicy gives up. `header`'s worker, session and chunks are filled in.
  Status Send(UploadHeader header, uint32_t num_chunks, const Provide& provide);

  /// Payload bytes written, those of broken attempts too.
  uint64_t bytes() const { return bytes_; }
  uint32_t retries() const { return retries_; }

 private:
  Status Attempt(const UploadHeader& header, const std::vector<uint32_t>& chunks,
                 const Provide& provide);
  /// Leaves in `chunks` those that the coordinator lacks; all where it does not say.
  void AskWhatIsMissing(const UploadHeader& header, std::vector<uint32_t>& chunks);

  const BulkLink& link_;
  PhaseTimer& timer_;
  uint64_t bytes_ = 0;
  uint32_t retries_ = 0;
};

}  // namespace interlude
