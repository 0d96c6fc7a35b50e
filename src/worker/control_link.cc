#include "worker/control_link.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "base/log.h"

namespace interlude {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

/// More than the coordinator ever has in flight to one worker.
constexpr size_t kMostWaiting = 64;
constexpr milliseconds kSlice{100};
/// How long a session may take to be answered.
constexpr std::chrono::seconds kAnswerTimeout{5};
constexpr milliseconds kFirstBackoff{100};
constexpr milliseconds kLongestBackoff{2'000};
constexpr std::chrono::seconds kSaySoEvery{30};
/// Reports that a lost session may have swallowed: more than a worker makes between two words of
/// the coordinator.
constexpr size_t kMostKept = 8;

bool WorthKeeping(const WorkerMessage& message) {
  return std::holds_alternative<RoundReportMessage>(message) ||
         std::holds_alternative<CaughtUpMessage>(message) ||
         std::holds_alternative<EvaluationReportMessage>(message);
}

/// So that the workers of a coordinator that comes back do not all come at once.
milliseconds Jittered(milliseconds backoff) {
  static thread_local std::minstd_rand random{std::random_device{}()};
  return milliseconds(std::uniform_int_distribution<int64_t>(backoff.count() * 3 / 4,
                                                             backoff.count() * 5 / 4)(random));
}

double Seconds(SteadyClock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

ControlLink::ControlLink(std::shared_ptr<grpc::Channel> channel, const JoinMessage& join,
                         ControlLinkOptions options, std::function<bool()> stop)
    : channel_(std::move(channel)),
      options_(std::move(options)),
      stop_(std::move(stop)),
      join_(join),
      stream_(std::make_shared<ControlStream>(channel_, options_.address)),
      received_(kMostWaiting),
      thread_([this] { Run(); }) {}

ControlLink::~ControlLink() {
  {
    MutexLock lock(state_mutex_);
    leaving_ = true;
    state_changed_.NotifyAll();
  }
  received_.Close();  // the thread may wait for room
  stream()->Cancel();
  thread_.join();
}

std::shared_ptr<ControlStream> ControlLink::stream() const {
  MutexLock lock(send_mutex_);
  return stream_;
}

bool ControlLink::Send(const WorkerMessage& message) {
  MutexLock lock(send_mutex_);
  if (begun_anew()) return true;  // it belongs to the stay before
  const uint32_t number = next_number_++;
  if (WorthKeeping(message)) {
    if (kept_.size() == kMostKept) kept_.pop_front();
    kept_.emplace_back(number, message);
  }
  // What a broken session does not take is sent by the next one, if it was kept.
  return stream_->Send(message, number) || !over();
}

std::optional<CoordinatorMessage> ControlLink::ReceiveFor(std::chrono::nanoseconds duration) {
  std::optional<CoordinatorMessage> message = received_.PopFor(duration);
  if (message && std::holds_alternative<WelcomeMessage>(*message)) --waiting_welcomes_;
  if (message && std::holds_alternative<CatchUpMessage>(*message)) --waiting_catch_ups_;
  return message;
}

bool ControlLink::OverWithin(std::chrono::nanoseconds duration) const {
  const auto deadline = SteadyClock::now() + duration;
  MutexLock lock(state_mutex_);
  while (!over_) {
    const auto left = deadline - SteadyClock::now();
    if (left <= left.zero()) break;
    state_changed_.WaitFor(state_mutex_, left);
  }
  return over_;
}

bool ControlLink::InterruptedWithin(std::chrono::nanoseconds duration) const {
  const auto deadline = SteadyClock::now() + duration;
  MutexLock lock(state_mutex_);
  while (!over_ && !begun_anew() && !left_behind()) {
    const auto left = deadline - SteadyClock::now();
    if (left <= left.zero()) return false;
    state_changed_.WaitFor(state_mutex_, left);
  }
  return true;
}

uint64_t ControlLink::connection() const {
  MutexLock lock(state_mutex_);
  return connection_;
}

bool ControlLink::AwaitAnother(uint64_t connection, const std::function<bool()>& keep_going) const {
  const auto known_by = SteadyClock::now() + options_.lag;
  if (options_.reconnect_for == Nanoseconds(0)) return false;
  while (keep_going()) {
    MutexLock lock(state_mutex_);
    if (over_) return false;
    const bool there = connection_ != 0;  // a call may have begun while there was none
    if (there && connection_ != connection) return true;
    if (there && SteadyClock::now() >= known_by) return false;
    state_changed_.WaitFor(state_mutex_, kSlice);
  }
  return false;
}

void ControlLink::Renew(uint64_t connection, uint64_t session,
                        const std::function<bool()>& keep_going) {
  if (options_.reconnect_for == Nanoseconds(0)) return;
  const auto until = SteadyClock::now() + options_.lag;
  while (this->connection() == connection && SteadyClock::now() < until) {
    if (!keep_going() || OverWithin(kSlice)) return;
  }
  MutexLock lock(send_mutex_);  // the stream stays the same meanwhile
  const bool given_up = this->connection() == connection && token_ == session;
  if (given_up && !over() && !leaving()) stream_->Cancel();
}

void ControlLink::SetConnection(uint64_t connection) {
  MutexLock lock(state_mutex_);
  connection_ = connection;
  state_changed_.NotifyAll();
}

void ControlLink::MarkOver() {
  MutexLock lock(state_mutex_);
  over_ = true;
  state_changed_.NotifyAll();
}

bool ControlLink::leaving() const {
  MutexLock lock(state_mutex_);
  return leaving_;
}

Status ControlLink::EndStatus() {
  while (!received_.closed()) received_.PopFor(std::chrono::seconds(1));
  return end_status_;
}

void ControlLink::Leave(const LeaveMessage& message) {
  {
    MutexLock lock(state_mutex_);
    leaving_ = true;
    state_changed_.NotifyAll();
  }
  MutexLock lock(send_mutex_);
  stream_->Leave(message, next_number_++);
}

// ---- the link's thread ----

void ControlLink::Run() {
  std::shared_ptr<ControlStream> current = stream();
  current->Send(join_, 0);
  end_status_ = ForwardUntilEnd(*current);
  while (MayReconnect(*current)) {
    end_status_ = Reconnect(end_status_);
    if (!end_status_.ok()) break;
    current = stream();
    end_status_ = ForwardUntilEnd(*current);
  }
  received_.Close();
  MarkOver();
}

Status ControlLink::ForwardUntilEnd(ControlStream& stream) {
  for (;;) {
    const bool ended = stream.ended();  // asked before: a last message may lie in the queue
    std::optional<CoordinatorMessage> message = stream.ReceiveFor(kSlice);
    if (!message && ended) return stream.EndStatus();
    if (!message) continue;
    Note(*message);
    if (!received_.Push(*std::move(message))) return CancelledError("the worker has left");
  }
}

void ControlLink::Note(const CoordinatorMessage& message) {
  if (const auto* welcome = std::get_if<WelcomeMessage>(&message)) {
    ++waiting_welcomes_;
    join_.session = welcome->session;
    token_ = welcome->session;
    join_.requested_worker = welcome->worker;
    run_id_ = welcome->run_id;
  }
  MutexLock lock(state_mutex_);
  if (std::holds_alternative<CatchUpMessage>(message)) ++waiting_catch_ups_;
  if (std::holds_alternative<GoodbyeMessage>(message)) over_ = true;
  state_changed_.NotifyAll();
}

bool ControlLink::MayReconnect(const ControlStream& stream) const {
  return options_.reconnect_for > Nanoseconds(0) && stream.broken() && join_.session != 0 &&
         !leaving() && !over();
}

Status ControlLink::Reconnect(const Status& lost) {
  SetConnection(0);
  const auto begin = SteadyClock::now();
  const auto deadline = begin + options_.reconnect_for;
  auto say_so = begin + kSaySoEvery;
  LogWarning("{}; going on meanwhile, and trying for {:g} s to come back", lost.message(),
             Seconds(options_.reconnect_for));
  milliseconds backoff = kFirstBackoff;
  for (;;) {
    SleepFor(Jittered(backoff));
    backoff = std::min(backoff * 2, kLongestBackoff);
    if (leaving() || stop_()) return CancelledError("told to stop");
    if (const std::optional<Status> settled = TryOnce()) {
      if (settled->ok()) {
        LogInfo("the coordinator at {} is back after {:.1f} s", options_.address,
                Seconds(SteadyClock::now() - begin));
      }
      return *settled;
    }
    const auto now = SteadyClock::now();
    if (now >= deadline) {
      return UnavailableError("{}; it has not come back within {:g} s", lost.message(),
                              Seconds(options_.reconnect_for));
    }
    if (now < say_so) continue;
    say_so = now + kSaySoEvery;
    LogWarning("the coordinator at {} is not back after {:.0f} s; still trying", options_.address,
               Seconds(now - begin));
  }
}

void ControlLink::SleepFor(milliseconds duration) const {
  const auto until = SteadyClock::now() + duration;
  MutexLock lock(state_mutex_);
  for (auto left = until - SteadyClock::now(); left > left.zero() && !leaving_;
       left = until - SteadyClock::now()) {
    state_changed_.WaitFor(state_mutex_, left);
  }
}

bool ControlLink::AwaitConnection() {
  // A call would fail at once while the channel backs off, and gRPC hardly looks at a channel's
  // sockets (every 5 s) unless somebody waits: a connection may stand for seconds unseen.
  const auto until = SteadyClock::now() + kAnswerTimeout;
  while (SteadyClock::now() < until && !leaving() && !stop_()) {
    if (channel_->WaitForConnected(std::chrono::system_clock::now() + kSlice)) return true;
  }
  return false;
}

std::optional<Status> ControlLink::TryOnce() {
  if (!AwaitConnection()) return std::nullopt;
  auto fresh = std::make_shared<ControlStream>(channel_, options_.address);
  fresh->Send(join_, 0);
  std::optional<CoordinatorMessage> answer;
  const auto until = SteadyClock::now() + kAnswerTimeout;
  while (!answer && SteadyClock::now() < until && !leaving() && !stop_()) {
    const bool ended = fresh->ended();
    answer = fresh->ReceiveFor(kSlice);
    if (!answer && ended) break;
  }
  if (!answer) {
    if (!fresh->ended()) return std::nullopt;
    const Status status = fresh->EndStatus();
    if (status.ok() || fresh->broken()) return std::nullopt;
    return status;  // a refusal
  }
  const auto* welcome = std::get_if<WelcomeMessage>(&*answer);
  if (welcome == nullptr) {
    return InvalidArgumentError("the coordinator at {} answers a join with something else",
                                options_.address);
  }
  return TakeUp(std::move(fresh), *welcome);
}

Status ControlLink::TakeUp(std::shared_ptr<ControlStream> fresh, const WelcomeMessage& welcome) {
  if (welcome.run_id != run_id_) {
    return AbortedError(
        "the coordinator at {} now serves run {}; this worker belongs to {}: start it again",
        options_.address, welcome.run_id, run_id_);
  }
  MutexLock lock(send_mutex_);
  if (!welcome.resumed) {
    LogInfo("the coordinator no longer holds this worker's place; it takes a new one");
    kept_.clear();
    Note(welcome);
    received_.Push(welcome);
  }
  std::erase_if(kept_, [&](const auto& sent) { return sent.first <= welcome.last_number; });
  for (const auto& [number, message] : kept_) fresh->Send(message, number);
  stream_ = std::move(fresh);
  MutexLock state(state_mutex_);
  connection_ = ++sessions_;
  state_changed_.NotifyAll();
  return OkStatus();
}

}  // namespace interlude
