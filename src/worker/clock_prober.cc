#include "worker/clock_prober.h"

#include <utility>

#include "base/log.h"
#include "base/thread_times.h"
#include "ledger/recording.h"

namespace interlude {

using SteadyClock = std::chrono::steady_clock;

ClockProber::ClockProber(const std::shared_ptr<grpc::Channel>& channel, const Clock& clock,
                         WorkerId worker, uint64_t session, ClockProberOptions options)
    : options_(options),
      clock_(clock),
      worker_(worker),
      session_(session),
      stub_(v1::Coordinator::NewStub(channel)),
      thread_([this] { Run(); }) {}

ClockProber::~ClockProber() { Stop(); }

void ClockProber::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    stopping_.NotifyAll();
  }
  calls_.Cancel();
  if (thread_.joinable()) thread_.join();
}

std::vector<ClockProbe> ClockProber::Take() {
  MutexLock lock(mutex_);
  return std::exchange(probes_, {});
}

bool ClockProber::WaitFor(std::chrono::milliseconds duration) {
  const auto until = SteadyClock::now() + duration;
  MutexLock lock(mutex_);
  while (!stopped_) {
    const auto left = until - SteadyClock::now();
    if (left <= left.zero()) return true;
    stopping_.WaitFor(mutex_, left);
  }
  return false;
}

void ClockProber::Run() {
  if (!RecordingIsOn()) return;
  bool said = false;
  do {
    const grpc::Status status = ProbeUntilItBreaks();
    if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
      LogWarning(
          "the coordinator knows no clock probes: the report can't set this worker's times "
          "beside others'");
      return;
    }
    // A broken line and a session that is being taken up again are no news from here.
    const bool passing = status.ok() || calls_.cancelled() ||
                         status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                         status.error_code() == grpc::StatusCode::CANCELLED ||
                         status.error_code() == grpc::StatusCode::PERMISSION_DENIED;
    if (!passing && !std::exchange(said, true))
      LogWarning("clock probes fail, and are tried again: {}", status.error_message());
  } while (WaitFor(options_.every));
}

grpc::Status ClockProber::ProbeUntilItBreaks() {
  grpc::ClientContext context;
  const CallGroup::Membership membership(calls_, context);
  const uint64_t session = session_;
  const auto stream = stub_->ProbeClock(&context);
  bool stands = true;
  for (int made = 0; (stands = ProbeOnce(*stream, session)); ++made) {
    if (!WaitFor(made + 1 < options_.burst ? options_.burst_every : options_.every)) break;
    if (session != session_) break;
  }
  if (stands) context.TryCancel();
  return stream->Finish();
}

bool ClockProber::ProbeOnce(
    grpc::ClientReaderWriter<v1::ClockProbeRequest, v1::ClockProbeReply>& stream,
    uint64_t session) {
  v1::ClockProbeRequest request;
  request.set_worker(worker_);
  request.set_session(session);
  v1::ClockProbeReply reply;
  ClockProbe probe{.worker = worker_};
  const int64_t run_delay_before = ReadThreadTimesWithDelay().run_delay_ns;
  probe.sent_ns = clock_.Now().count();
  if (!stream.Write(request) || !stream.Read(&reply)) return false;
  probe.returned_ns = clock_.Now().count();
  probe.run_delay_ns = ReadThreadTimesWithDelay().run_delay_ns - run_delay_before;
  probe.received_ns = reply.received_ns();
  probe.replied_ns = reply.replied_ns();
  MutexLock lock(mutex_);
  probes_.push_back(probe);
  KeepQuickest(probes_, kMostKept);
  return true;
}

}  // namespace interlude
