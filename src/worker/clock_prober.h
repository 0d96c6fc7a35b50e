// Asks the coordinator for its time once a second, beside everything else that a worker does: the
// probes from which their clocks' offset is estimated (ledger/clock_fit.h). Whatever goes wrong
// here is tried again and disturbs nothing.
#pragma once

#include <grpcpp/channel.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "interlude.grpc.pb.h"
#include "ledger/clock_probe.h"
#include "protocol/types.h"
#include "worker/call_group.h"

namespace interlude {

struct ClockProberOptions {
  /// The first probes of each connection follow each other quickly: a short run is calibrated too,
  /// and another coordinator's clock is soon known.
  int burst = 8;
  std::chrono::milliseconds burst_every{50};
  std::chrono::milliseconds every{1'000};
};

/// Any thread.
class ClockProber {
 public:
  /// Probes that are kept until somebody takes them; beyond, KeepQuickest thins them out.
  static constexpr size_t kMostKept = 256;

  /// Begins at once, on a thread of its own. `session` is the stay's token.
  ClockProber(const std::shared_ptr<grpc::Channel>& channel, const Clock& clock, WorkerId worker,
              uint64_t session, ClockProberOptions options = {});
  /// Stops.
  ~ClockProber();

  /// Another stay has begun.
  void SetSession(uint64_t session) { session_ = session; }
  /// The probes that were made since, in order.
  std::vector<ClockProbe> Take();
  /// Ends a probe that is under way; returns once no other will be made.
  void Stop();

 private:
  void Run();
  grpc::Status ProbeUntilItBreaks();
  /// False when the call has ended.
  bool ProbeOnce(grpc::ClientReaderWriter<v1::ClockProbeRequest, v1::ClockProbeReply>& stream,
                 uint64_t session);
  /// False once it is stopped.
  bool WaitFor(std::chrono::milliseconds duration);

  const ClockProberOptions options_;
  const Clock& clock_;
  const WorkerId worker_;
  std::atomic<uint64_t> session_;
  const std::unique_ptr<v1::Coordinator::Stub> stub_;
  CallGroup calls_;

  Mutex mutex_;
  CondVar stopping_;
  bool stopped_ INTERLUDE_GUARDED_BY(mutex_) = false;
  std::vector<ClockProbe> probes_ INTERLUDE_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace interlude
