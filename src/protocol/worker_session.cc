#include "protocol/worker_session.h"

#include <string_view>

namespace interlude {
namespace {

std::string_view StageName(WorkerSession::Stage stage) {
  switch (stage) {
    case WorkerSession::Stage::kConnecting:
      return "connecting";
    case WorkerSession::Stage::kJoined:
      return "joined, not ready";
    case WorkerSession::Stage::kReady:
      return "ready, before its first round";
    case WorkerSession::Stage::kInRound:
      return "in a round";
    case WorkerSession::Stage::kBetweenRounds:
      return "between rounds";
    case WorkerSession::Stage::kFinishing:
      return "finishing";
    case WorkerSession::Stage::kDone:
      return "done";
  }
  return "unknown";
}

Status OutOfPlace(std::string_view message, const WorkerSession& session) {
  return FailedPreconditionError(
      "'{}' came while worker {} is {} (round {}); the coordinator may run another version",
      message, session.worker(), StageName(session.stage()), session.round());
}

}  // namespace

Status WorkerSession::Welcomed(WorkerId worker) {
  if (stage_ != Stage::kConnecting) return OutOfPlace("welcome", *this);
  if (worker < 0) {
    return InvalidArgumentError("the coordinator gave worker id {}; ids begin at 0", worker);
  }
  worker_ = worker;
  stage_ = Stage::kJoined;
  return OkStatus();
}

Status WorkerSession::OfferedBase() {
  if (stage_ != Stage::kJoined) return OutOfPlace("ready", *this);
  stage_ = Stage::kReady;
  return OkStatus();
}

Status WorkerSession::AskedForBase() {
  if (stage_ != Stage::kReady) return OutOfPlace("upload the base", *this);
  return OkStatus();
}

Status WorkerSession::AskedToCatchUp() {
  if (stage_ != Stage::kReady && stage_ != Stage::kInRound && stage_ != Stage::kBetweenRounds) {
    return OutOfPlace("catch up", *this);
  }
  stage_ = Stage::kReady;
  return OkStatus();
}

Status WorkerSession::RoundStarted(uint32_t round) {
  if (stage_ != Stage::kReady && stage_ != Stage::kBetweenRounds) {
    return OutOfPlace("start round", *this);
  }
  if (round < kFirstRound) {
    return FailedPreconditionError("'start round {}' came; rounds count from {}", round,
                                   kFirstRound);
  }
  if (stage_ == Stage::kBetweenRounds && round != round_ + 1) {
    return FailedPreconditionError("'start round {}' came after round {}; round {} was expected",
                                   round, round_, round_ + 1);
  }
  round_ = round;
  stage_ = Stage::kInRound;
  return OkStatus();
}

Status WorkerSession::RoundReported(uint32_t round) {
  if (stage_ != Stage::kInRound) return OutOfPlace("round reported", *this);
  if (round != round_) {
    return FailedPreconditionError("report of round {} while in round {}", round, round_);
  }
  stage_ = Stage::kBetweenRounds;
  return OkStatus();
}

Status WorkerSession::ToldToFinish() {
  if (stage_ != Stage::kBetweenRounds && stage_ != Stage::kReady) {
    return OutOfPlace("finish", *this);
  }
  stage_ = Stage::kFinishing;
  return OkStatus();
}

Status WorkerSession::Done() {
  if (stage_ != Stage::kFinishing) return OutOfPlace("done", *this);
  stage_ = Stage::kDone;
  return OkStatus();
}

}  // namespace interlude
