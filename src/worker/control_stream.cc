#include "worker/control_stream.h"

#include <chrono>
#include <utility>

namespace interlude {
namespace {

/// More than the coordinator ever has in flight to one worker.
constexpr size_t kMostWaiting = 64;
/// How long the coordinator may take to close after the last word.
constexpr std::chrono::seconds kLeaveTimeout{5};

}  // namespace

ControlStream::ControlStream(const std::shared_ptr<grpc::Channel>& channel, std::string address)
    : address_(std::move(address)),
      stub_(v1::Coordinator::NewStub(channel)),
      stream_(stub_->Session(&context_)),
      received_(kMostWaiting),
      reader_([this] { ReadUntilEnd(); }) {}

ControlStream::~ControlStream() {
  context_.TryCancel();
  received_.Close();  // the reader may wait for room
  reader_.join();
}

bool ControlStream::Send(const WorkerMessage& message) {
  const v1::WorkerMessage proto = ToProto(message);
  MutexLock lock(write_mutex_);
  if (!may_write_) return false;
  may_write_ = stream_->Write(proto);
  return may_write_;
}

Status ControlStream::EndStatus() {
  while (!received_.closed()) received_.PopFor(std::chrono::seconds(1));
  return end_status_;
}

void ControlStream::Leave(const LeaveMessage& message) {
  Send(WorkerMessage(message));
  {
    MutexLock lock(write_mutex_);
    if (std::exchange(may_write_, false)) stream_->WritesDone();
  }
  const auto deadline = std::chrono::steady_clock::now() + kLeaveTimeout;
  while (!ended() && std::chrono::steady_clock::now() < deadline) {
    received_.PopFor(deadline - std::chrono::steady_clock::now());
  }
}

bool ControlStream::over() const { return OverWithin(std::chrono::nanoseconds(0)); }

bool ControlStream::OverWithin(std::chrono::nanoseconds duration) const {
  const auto deadline = std::chrono::steady_clock::now() + duration;
  MutexLock lock(over_mutex_);
  while (!over_) {
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= left.zero()) break;
    over_changed_.WaitFor(over_mutex_, left);
  }
  return over_;
}

void ControlStream::MarkOver() {
  MutexLock lock(over_mutex_);
  over_ = true;
  over_changed_.NotifyAll();
}

void ControlStream::ReadMessages(Status& unreadable) {
  v1::CoordinatorMessage proto;
  while (stream_->Read(&proto)) {
    StatusOr<CoordinatorMessage> message = FromProto(proto);
    if (!message.ok()) {
      unreadable = message.status();
      context_.TryCancel();
      return;
    }
    const bool goodbye = std::holds_alternative<GoodbyeMessage>(*message);
    if (!received_.Push(*std::move(message))) return;
    if (goodbye) MarkOver();
  }
}

void ControlStream::ReadUntilEnd() {
  Status unreadable;
  ReadMessages(unreadable);
  {
    // A Write that is under way ends by itself, since the stream is broken; none may begin beside
    // Finish.
    MutexLock lock(write_mutex_);
    may_write_ = false;
  }
  const grpc::Status status = stream_->Finish();
  end_status_ = unreadable.ok() ? Explain(status) : unreadable;
  received_.Close();
  MarkOver();
}

Status ControlStream::Explain(const grpc::Status& grpc_status) const {
  const Status status = FromGrpc(grpc_status);
  if (status.code() != StatusCode::kUnavailable) return status;
  // gRPC's own word for a status that the other side sent: then it is a refusal, not a broken line.
  if (context_.debug_error_string().find("received from peer") != std::string::npos) return status;
  return UnavailableError("lost the coordinator at {}: {}", address_, status.message());
}

}  // namespace interlude
