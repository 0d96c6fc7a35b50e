// How much one worker, and all of them, may ask of the coordinator at once. Generous for a right
// worker on a bad line; what goes beyond is a fault, and is refused before memory or a thread is
// taken for it.
#pragma once

#include <grpcpp/server_context.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "protocol/types.h"

namespace interlude {

/// From a call's begin to its first message.
inline constexpr std::chrono::seconds kFirstMessageWithin{30};
/// What a session that is over may still take until the worker has read its last words.
inline constexpr std::chrono::seconds kLastWordsWithin{10};
/// A worker has one upload and one download under way; of broken ones some may linger.
inline constexpr uint32_t kMostBulkStreamsOfAWorker = 16;
/// A worker has one call for clock probes; a broken one may linger.
inline constexpr uint32_t kMostClockStreamsOfAWorker = 2;
/// Of MeasureLink, which needs no stay: at a time, and of one call.
inline constexpr uint32_t kMostLinkMeasurements = 1;
inline constexpr std::chrono::seconds kLinkMeasurementWithin{10};
inline constexpr size_t kMostLinkPieceBytes = size_t{1} << 20;
inline constexpr uint64_t kMostLinkBytes = uint64_t{640} << 20;  // both ways together
inline constexpr uint32_t kMostLinkRequests = 10'000;
/// On one connection; gRPC lets further ones wait at the worker's end.
inline constexpr int kMostStreamsOfAConnection = 32;
/// Sessions beside those of the workers that the run was started for: newcomers, and broken ones
/// that nobody has noticed yet.
inline constexpr uint32_t kSpareSessions = 16;
/// A worker's first message, as protobuf has it.
inline constexpr size_t kMostJoinBytes = 64 << 10;

/// Threads that open calls may hold; each has one.
constexpr int MostCallThreads(uint32_t workers) {
  return static_cast<int>(workers * (1 + kMostBulkStreamsOfAWorker + kMostClockStreamsOfAWorker) +
                          kSpareSessions + kMostLinkMeasurements);
}

/// One call's place among at most `most`, while this lives. Any thread.
class CallPlace {
 public:
  CallPlace(std::atomic<uint32_t>& taken, uint32_t most) : taken_(taken), got_(++taken <= most) {}
  ~CallPlace() { --taken_; }
  CallPlace(const CallPlace&) = delete;
  CallPlace& operator=(const CallPlace&) = delete;

  bool got() const { return got_; }

 private:
  std::atomic<uint32_t>& taken_;
  const bool got_;
};

inline Status TooManyBulkStreams(WorkerId worker) {
  return ResourceExhaustedError("worker {} has {} uploads and downloads under way: no more at once",
                                worker, kMostBulkStreamsOfAWorker);
}

/// Whether a worker says more on one stream than a right one would: 1000 messages within 10 s, and
/// for each report of a round, of which the protocol takes one a round, some more. One thread.
class MessageRate {
 public:
  static constexpr int kMost = 1000;
  static constexpr int kMoreForAReport = 8;
  static constexpr std::chrono::seconds kWithin{10};

  /// Takes account of one message; false when it is one too many.
  bool Take(Nanoseconds now, bool reports_a_round) {
    if (now - since_ >= kWithin) {
      since_ = now;
      count_ = 0;
    }
    count_ = reports_a_round ? std::max(0, count_ - kMoreForAReport) : count_ + 1;
    return count_ <= kMost;
  }

 private:
  Nanoseconds since_{0};
  int count_ = 0;
};

/// Ends calls that have taken too long. gRPC's Read and Write know no deadline of the coordinator's
/// side. Any thread; one of its own watches while there is something to watch.
class CallDeadlines {
 public:
  /// `clock` says when a call is due.
  explicit CallDeadlines(const Clock& clock);
  ~CallDeadlines();

  /// Cancels the call unless it goes away within `duration`.
  class Watch {
   public:
    Watch(CallDeadlines& deadlines, grpc::ServerContext& context, Nanoseconds duration);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    struct Call {
      grpc::ServerContext* context;
      Nanoseconds due;
    };
    friend class CallDeadlines;

    CallDeadlines& deadlines_;
    std::list<Call>::iterator place_;
  };

 private:
  void Run();

  const Clock& clock_;
  Mutex mutex_;
  CondVar changed_;
  std::list<Watch::Call> calls_ INTERLUDE_GUARDED_BY(mutex_);
  bool ending_ INTERLUDE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace interlude
