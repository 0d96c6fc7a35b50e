// The coordinator's half of the Session.
#include <utility>

#include "base/clean_text.h"
#include "wire/convert.h"
#include "wire/field_checks.h"

namespace interlude {
namespace {

using internal::CheckAtMost;
using internal::CheckRange;
using internal::CheckText;

constexpr int64_t kMostStatusCode = static_cast<int64_t>(StatusCode::kUnauthenticated);

Status CheckPart(uint32_t part, uint32_t parts) {
  if (part < parts && parts <= kMaxWorkers) return OkStatus();
  return InvalidArgumentError("evaluation part {} of {}: parts count from 0 and are at most {}",
                              part, parts, kMaxWorkers);
}

void Fill(const WelcomeMessage& message, v1::CoordinatorMessage& proto) {
  v1::Welcome& welcome = *proto.mutable_welcome();
  welcome.set_worker(message.worker);
  welcome.set_workers(message.workers);
  welcome.set_session(message.session);
  welcome.set_run_id(CleanText(message.run_id, kMaxTextBytes));
  welcome.set_config_toml(message.config_toml);
  welcome.set_resumed(message.resumed);
  welcome.set_last_number(message.last_number);
}

void Fill(const ProvideBaseMessage&, v1::CoordinatorMessage& proto) {
  proto.mutable_provide_base();
}

void Fill(const CatchUpMessage& message, v1::CoordinatorMessage& proto) {
  v1::CatchUp& catch_up = *proto.mutable_catch_up();
  catch_up.set_committed_rounds(message.committed_rounds);
  catch_up.mutable_chunk_rounds()->Assign(message.chunk_rounds.begin(), message.chunk_rounds.end());
}

void Fill(const StartRoundMessage& message, v1::CoordinatorMessage& proto) {
  v1::StartRound& start = *proto.mutable_start_round();
  start.set_round(message.round);
  start.set_evaluate(message.evaluate);
  start.set_evaluation_part(message.evaluation_part);
  start.set_evaluation_parts(message.evaluation_parts);
  *start.mutable_base_root() = ToProto(message.base_root);
}

void Fill(const FinishMessage& message, v1::CoordinatorMessage& proto) {
  v1::Finish& finish = *proto.mutable_finish();
  finish.set_after_rounds(message.after_rounds);
  finish.set_evaluation_part(message.evaluation_part);
  finish.set_evaluation_parts(message.evaluation_parts);
}

void Fill(const GoodbyeMessage& message, v1::CoordinatorMessage& proto) {
  proto.mutable_goodbye()->set_code(static_cast<int32_t>(message.code));
  proto.mutable_goodbye()->set_reason(CleanText(message.reason, kMaxTextBytes));
}

StatusOr<WelcomeMessage> Read(const v1::Welcome& proto) {
  INTERLUDE_RETURN_IF_ERROR(CheckRange("workers", proto.workers(), 1, kMaxWorkers));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("worker", proto.worker(), 0, int64_t{proto.workers()} - 1));
  INTERLUDE_RETURN_IF_ERROR(CheckText("run_id", proto.run_id(), kMaxTextBytes));
  INTERLUDE_RETURN_IF_ERROR(
      CheckAtMost("the size of config_toml", proto.config_toml().size(), kMaxConfigBytes));
  return WelcomeMessage{.worker = proto.worker(),
                        .workers = proto.workers(),
                        .session = proto.session(),
                        .run_id = proto.run_id(),
                        .config_toml = proto.config_toml(),
                        .resumed = proto.resumed(),
                        .last_number = proto.last_number()};
}

StatusOr<CatchUpMessage> Read(const v1::CatchUp& proto) {
  INTERLUDE_RETURN_IF_ERROR(CheckAtMost(
      "the number of chunk_rounds", static_cast<uint64_t>(proto.chunk_rounds_size()), kMaxChunks));
  return CatchUpMessage{.committed_rounds = proto.committed_rounds(),
                        .chunk_rounds = {proto.chunk_rounds().begin(), proto.chunk_rounds().end()}};
}

StatusOr<StartRoundMessage> Read(const v1::StartRound& proto) {
  if (!proto.has_base_root())
    return InvalidArgumentError("round {} has no base_root", proto.round());
  if (proto.evaluate()) {
    INTERLUDE_RETURN_IF_ERROR(CheckPart(proto.evaluation_part(), proto.evaluation_parts()));
  }
  return StartRoundMessage{.round = proto.round(),
                           .evaluate = proto.evaluate(),
                           .evaluation_part = proto.evaluation_part(),
                           .evaluation_parts = proto.evaluation_parts(),
                           .base_root = FromProto(proto.base_root())};
}

StatusOr<FinishMessage> Read(const v1::Finish& proto) {
  INTERLUDE_RETURN_IF_ERROR(CheckPart(proto.evaluation_part(), proto.evaluation_parts()));
  return FinishMessage{.after_rounds = proto.after_rounds(),
                       .evaluation_part = proto.evaluation_part(),
                       .evaluation_parts = proto.evaluation_parts()};
}

StatusOr<GoodbyeMessage> Read(const v1::Goodbye& proto) {
  INTERLUDE_RETURN_IF_ERROR(CheckText("reason", proto.reason(), kMaxTextBytes));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("code", proto.code(), 0, kMostStatusCode));
  return GoodbyeMessage{.code = static_cast<StatusCode>(proto.code()), .reason = proto.reason()};
}

template <typename Message>
StatusOr<CoordinatorMessage> Wrap(StatusOr<Message> message, std::string_view kind) {
  if (!message.ok()) return message.status().WithContext(kind);
  return CoordinatorMessage(*std::move(message));
}

}  // namespace

v1::CoordinatorMessage ToProto(const CoordinatorMessage& message) {
  v1::CoordinatorMessage proto;
  std::visit([&](const auto& kind) { Fill(kind, proto); }, message);
  return proto;
}

StatusOr<CoordinatorMessage> FromProto(const v1::CoordinatorMessage& message) {
  switch (message.kind_case()) {
    case v1::CoordinatorMessage::kWelcome:
      return Wrap(Read(message.welcome()), "Welcome");
    case v1::CoordinatorMessage::kProvideBase:
      return CoordinatorMessage(ProvideBaseMessage{});
    case v1::CoordinatorMessage::kCatchUp:
      return Wrap(Read(message.catch_up()), "CatchUp");
    case v1::CoordinatorMessage::kStartRound:
      return Wrap(Read(message.start_round()), "StartRound");
    case v1::CoordinatorMessage::kFinish:
      return Wrap(Read(message.finish()), "Finish");
    case v1::CoordinatorMessage::kGoodbye:
      return Wrap(Read(message.goodbye()), "Goodbye");
    case v1::CoordinatorMessage::KIND_NOT_SET:
      break;
  }
  return InvalidArgumentError(
      "the coordinator sent a message of no known kind; it may be a newer program");
}

}  // namespace interlude
