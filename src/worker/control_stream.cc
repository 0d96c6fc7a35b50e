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

bool ControlStream::Send(const WorkerMessage& message, uint32_t number) {
  v1::WorkerMessage proto = ToProto(message);
  proto.set_number(number);
  MutexLock lock(write_mutex_);
  if (!may_write_) return false;
  may_write_ = stream_->Write(proto);
  return may_write_;
}

Status ControlStream::EndStatus() {
  while (!received_.closed()) received_.PopFor(std::chrono::seconds(1));
  return end_status_;
}

void ControlStream::Leave(const LeaveMessage& message, uint32_t number) {
  Send(WorkerMessage(message), number);
  {
    MutexLock lock(write_mutex_);
    if (std::exchange(may_write_, false)) stream_->WritesDone();
  }
  const auto deadline = std::chrono::steady_clock::now() + kLeaveTimeout;
  while (!ended() && std::chrono::steady_clock::now() < deadline) {
    received_.PopFor(deadline - std::chrono::steady_clock::now());
  }
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
    if (!received_.Push(*std::move(message))) return;
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
}

Status ControlStream::Explain(const grpc::Status& grpc_status) {
  const Status status = FromGrpc(grpc_status);
  if (status.ok() || context_.GetServerTrailingMetadata().contains(kOwnWord)) return status;
  switch (status.code()) {
    case StatusCode::kUnavailable:
    case StatusCode::kCancelled:
    case StatusCode::kInternal:
    case StatusCode::kUnknown:
      break;
    default:
      return status;  // something else answers at this address
  }
  broken_ = true;
  return UnavailableError("lost the coordinator at {}: {}", address_, status.message());
}

}  // namespace interlude
