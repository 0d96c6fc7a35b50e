// What every bulk call of a worker needs: where to send it, and what proves who sends it.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "protocol/types.h"
#include "wire/bulk_methods.h"
#include "worker/call_group.h"
#include "worker/control_link.h"

namespace interlude {

/// Attempts of one upload or download within one session, the first among them.
inline constexpr int kBulkAttempts = 3;

/// Shared by the threads of a round.
struct BulkLink {
  BulkStub& stub;
  WorkerId worker = 0;
  uint64_t session = 0;
  CallGroup& calls;
  /// Tells of a lost coordinator and of its return; null: a broken line is tried again at once.
  ControlLink* control = nullptr;
};

/// Decides after each failed attempt of one upload or download whether the same call may succeed
/// when it is made again. One thread.
class RetryPolicy {
 public:
  explicit RetryPolicy(const BulkLink& link)
      : link_(link), connection_(link.control == nullptr ? 0 : link.control->connection()) {}

  /// The attempt that is under way, from 1; counted anew in each session.
  int attempt() const { return attempt_; }

  /// True for a broken line or damaged bytes, a few times, and where the coordinator was lost once
  /// it is back, for which this waits; false for a refusal.
  bool MayRetry(const Status& status) {
    if (link_.calls.cancelled()) return false;
    const auto wanted = [&] { return !link_.calls.cancelled(); };
    if (link_.control != nullptr && status.code() == StatusCode::kPermissionDenied)
      link_.control->Renew(connection_, link_.session, wanted);
    if (link_.control != nullptr && MayBeLost(status) &&
        link_.control->AwaitAnother(connection_, wanted)) {
      connection_ = link_.control->connection();
      attempt_ = 1;
      return true;
    }
    if (link_.calls.cancelled() || attempt_ == kBulkAttempts || !Passing(status)) return false;
    ++attempt_;
    return true;
  }

 private:
  /// Whether this may be what a call meets whose coordinator is gone, or is back and does not know
  /// the stay yet.
  static bool MayBeLost(const Status& status) {
    switch (status.code()) {
      case StatusCode::kUnavailable:
      case StatusCode::kCancelled:
      case StatusCode::kInternal:
      case StatusCode::kAborted:
      case StatusCode::kPermissionDenied:
      case StatusCode::kFailedPrecondition:
        return true;
      default:
        return false;
    }
  }
  static bool Passing(const Status& status) {
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

  const BulkLink& link_;
  uint64_t connection_;
  int attempt_ = 1;
};

}  // namespace interlude
