// A worker's word with the coordinator for its whole stay, over as many sessions as it takes: where
// the connection breaks, a thread opens another one and shows the token of the stay, while training
// goes on. Bulk data does not pass here.
#pragma once

#include <grpcpp/channel.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/queue.h"
#include "base/status.h"
#include "worker/control_stream.h"

namespace interlude {

struct ControlLinkOptions {
  std::string address;  // for messages only
  /// How long to try to come back after the connection broke (real time); 0: a broken connection
  /// ends the stay.
  Nanoseconds reconnect_for{0};
  /// How long word of a session's end may lag behind the failure of a call for the same cause (real
  /// time).
  std::chrono::nanoseconds lag = std::chrono::milliseconds(500);
};

/// Any thread, save where stated.
class ControlLink {
 public:
  /// Opens the first session and joins. `join` is repeated, with the stay's token and its worker
  /// id, by each later one. `stop` ends the trying.
  ControlLink(std::shared_ptr<grpc::Channel> channel, const JoinMessage& join,
              ControlLinkOptions options, std::function<bool()> stop);
  ~ControlLink();

  /// False once the stay is over: EndStatus says why. While the connection is broken a report is
  /// kept and sent when it is back; progress is dropped, and so is all that belongs to a stay that
  /// could not go on.
  bool Send(const WorkerMessage& message);

  /// Takes the next message; nothing when none came within `duration` or the stay is over
  /// (ended() tells). A Welcome after the first says that the stay could not go on and a new one
  /// has begun. One thread.
  std::optional<CoordinatorMessage> ReceiveFor(std::chrono::nanoseconds duration);

  /// No message will come any more, besides those already received.
  bool ended() const { return received_.closed(); }
  /// The coordinator has said Goodbye, or the connection has broken for good.
  bool over() const { return OverWithin(std::chrono::nanoseconds(0)); }
  /// As over(), after waiting for it for at most `duration`.
  bool OverWithin(std::chrono::nanoseconds duration) const;
  /// Waits for at most `duration` until the coordinator ends or interrupts what is under way;
  /// whether it has.
  bool InterruptedWithin(std::chrono::nanoseconds duration) const;
  /// A new stay has begun: nothing of the old one that is under way will be wanted.
  bool begun_anew() const { return waiting_welcomes_ > 0; }
  /// The worker is told to catch up: the round that it is in goes on without it.
  bool left_behind() const { return waiting_catch_ups_ > 0; }

  /// Counts the sessions; 0 while the connection is broken.
  uint64_t connection() const;
  /// A call of the session numbered `connection` (0: begun while there was none) has failed. Waits
  /// until it is known whether the session is still there; where it is not, until there is another
  /// one. False when the session is there, the stay is over, or keep_going says no.
  bool AwaitAnother(uint64_t connection, const std::function<bool()>& keep_going) const;
  /// A call with the token `session`, made during the session numbered `connection`, was refused as
  /// nobody's: the coordinator has given the stay up, as it does where nothing came through for
  /// long, and this end's connection does not know yet. Ends it, so that another one is opened.
  /// Nothing happens when another one has begun, nor when the coordinator has sent the worker away:
  /// what it says then may come after the refusal, and is waited for while keep_going says so.
  void Renew(uint64_t connection, uint64_t session, const std::function<bool()>& keep_going);

  /// Waits for the end. As ControlStream::EndStatus; Unavailable, with how long was tried, when the
  /// coordinator did not come back.
  Status EndStatus();
  /// Says the last word and gives the coordinator a moment to close.
  void Leave(const LeaveMessage& message);

 private:
  void Run();
  Status ForwardUntilEnd(ControlStream& stream);
  void Note(const CoordinatorMessage& message);
  bool MayReconnect(const ControlStream& stream) const;
  /// OK with a session that stands, or why there will be none.
  Status Reconnect(const Status& lost);
  /// Whether there is a connection; looks after the one that is being made for a while.
  bool AwaitConnection();
  /// One attempt; nothing when another one may do better.
  std::optional<Status> TryOnce();
  Status TakeUp(std::shared_ptr<ControlStream> stream, const WelcomeMessage& welcome);
  std::shared_ptr<ControlStream> stream() const;
  void SetConnection(uint64_t connection);
  void MarkOver();
  void SleepFor(std::chrono::milliseconds duration) const;
  bool leaving() const;

  const std::shared_ptr<grpc::Channel> channel_;
  const ControlLinkOptions options_;
  const std::function<bool()> stop_;
  JoinMessage join_;    // the link's thread; from the first Welcome on with token and id
  std::string run_id_;  // the link's thread

  /// Orders those who send, and keeps them from a session that is not taken up yet.
  mutable Mutex send_mutex_;
  std::shared_ptr<ControlStream> stream_ INTERLUDE_GUARDED_BY(send_mutex_);
  std::deque<std::pair<uint32_t, WorkerMessage>> kept_ INTERLUDE_GUARDED_BY(send_mutex_);
  uint32_t next_number_ INTERLUDE_GUARDED_BY(send_mutex_) = 1;

  mutable Mutex state_mutex_;
  mutable CondVar state_changed_;
  uint64_t connection_ INTERLUDE_GUARDED_BY(state_mutex_) = 1;
  uint64_t sessions_ INTERLUDE_GUARDED_BY(state_mutex_) = 1;
  bool over_ INTERLUDE_GUARDED_BY(state_mutex_) = false;
  bool leaving_ INTERLUDE_GUARDED_BY(state_mutex_) = false;

  Queue<CoordinatorMessage> received_;
  std::atomic<uint64_t> token_{0};  // of the stay
  std::atomic<int> waiting_welcomes_{0};
  std::atomic<int> waiting_catch_ups_{0};
  Status end_status_;  // written by the link's thread before received_ is closed
  std::thread thread_;
};

}  // namespace interlude
