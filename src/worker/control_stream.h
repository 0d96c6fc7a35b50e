// One Session stream: what the coordinator and this worker say to each other until the connection
// breaks or the stay ends. Bulk data does not pass here.
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

  /// Any thread. False when the stream has ended: EndStatus says why. `number` is the message's in
  /// the stay; Join has 0.
  bool Send(const WorkerMessage& message, uint32_t number);

  /// Takes the next message; nothing when none came within `duration` or the stream has ended
  /// (ended() tells). One thread.
  template <typename Duration>
  std::optional<CoordinatorMessage> ReceiveFor(Duration duration) {
    return received_.PopFor(duration);
  }

  /// No message will come any more, besides those already received. Any thread.
  bool ended() const { return received_.closed(); }

  /// Waits for the end. The coordinator's refusal, unchanged; Unavailable naming the address when
  /// the connection broke; InvalidArgument for a message that made no sense; OK when the
  /// coordinator closed without an error.
  Status EndStatus();

  /// Once it has ended: the connection broke, and the coordinator refused nothing. Any thread.
  bool broken() const { return ended() && broken_; }

  /// Says the last word and gives the coordinator a moment to close. After this Send returns false.
  void Leave(const LeaveMessage& message, uint32_t number);

  /// Ends the stream now. Any thread.
  void Cancel() { context_.TryCancel(); }

 private:
  void ReadUntilEnd();
  void ReadMessages(Status& unreadable);
  Status Explain(const grpc::Status& status);

  const std::string address_;
  grpc::ClientContext context_;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::CoordinatorMessage>> stream_;
  /// gRPC allows one Write at a time: this orders the writers. Read runs beside it.
  Mutex write_mutex_;
  bool may_write_ INTERLUDE_GUARDED_BY(write_mutex_) = true;
  Queue<CoordinatorMessage> received_;
  // Written by the reader before received_ is closed.
  Status end_status_;
  bool broken_ = false;
  std::thread reader_;
};

}  // namespace interlude
