// The Session stream: what the coordinator and this worker say to each other while the worker
// stays. Bulk data does not pass here.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/queue.h"
#include "base/status.h"
#include "wire/convert.h"

namespace interlude {

class ControlStream {
 public:
  /// `address` is for messages only.
  ControlStream(const std::shared_ptr<grpc::Channel>& channel, std::string address);
  /// Ends the stream if it has not ended.
  ~ControlStream();

  /// Any thread. False when the stream has ended: EndStatus says why.
  bool Send(const WorkerMessage& message);

  /// Takes the next message; nothing when none came within `duration` or the stream has ended
  /// (ended() tells). One thread.
  template <typename Duration>
  std::optional<CoordinatorMessage> ReceiveFor(Duration duration) {
    return received_.PopFor(duration);
  }

  /// No message will come any more, besides those already received. Any thread.
  bool ended() const { return received_.closed(); }

  /// The coordinator has said Goodbye or the stream has ended: nothing that is under way will be
  /// wanted. Any thread.
  bool over() const;
  /// As over(), after waiting for it for at most `duration`.
  bool OverWithin(std::chrono::nanoseconds duration) const;

  /// Waits for the end. The coordinator's refusal, unchanged; Unavailable naming the address when
  /// the connection broke; InvalidArgument for a message that made no sense; OK when the
  /// coordinator closed without an error.
  Status EndStatus();

  /// Says the last word and gives the coordinator a moment to close. After this Send returns false.
  void Leave(const LeaveMessage& message);

 private:
  void ReadUntilEnd();
  void ReadMessages(Status& unreadable);
  void MarkOver();
  Status Explain(const grpc::Status& status) const;

  const std::string address_;
  grpc::ClientContext context_;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::CoordinatorMessage>> stream_;
  /// gRPC allows one Write at a time: this orders the writers. Read runs beside it.
  Mutex write_mutex_;
  bool may_write_ INTERLUDE_GUARDED_BY(write_mutex_) = true;
  Queue<CoordinatorMessage> received_;
  mutable Mutex over_mutex_;
  mutable CondVar over_changed_;
  bool over_ INTERLUDE_GUARDED_BY(over_mutex_) = false;
  Status end_status_;  // written by the reader before received_ is closed
  std::thread reader_;
};

}  // namespace interlude
