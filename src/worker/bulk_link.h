// What every bulk call of a worker needs: where to send it, and what proves who sends it.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "protocol/types.h"
#include "wire/bulk_methods.h"
#include "worker/call_group.h"

namespace interlude {

/// Attempts of one upload or download, the first among them.
inline constexpr int kBulkAttempts = 3;

/// Shared by the threads of a round.
struct BulkLink {
  BulkStub& stub;
  WorkerId worker = 0;
  uint64_t session = 0;
  CallGroup& calls;
};

/// Whether the same call may succeed when it is made again: a broken line or damaged bytes, not a
/// refusal.
inline bool MayRetry(const Status& status, const CallGroup& calls) {
  if (calls.cancelled()) return false;
  switch (status.code()) {
    case StatusCode::kUnavailable:
    case StatusCode::kDataLoss:
    case StatusCode::kCancelled:
    case StatusCode::kInternal:  // what gRPC makes of a reset HTTP/2 stream
      return true;
    default:
      return false;
  }
}

}  // namespace interlude
