#include "train/group_trainer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "train/rank_messages.h"

namespace interlude {
namespace {

using Answers = std::vector<StatusOr<RankMessage>>;  // of the other ranks, in order

// How long the others may take for their words once rank 0's part has failed for want of them. An
// end or an error of one of them came before that; who has said nothing yet has nothing to say.
constexpr Nanoseconds kGrace = std::chrono::seconds(1);

bool Stopped(const Status& status) { return status.code() == StatusCode::kCancelled; }
/// An error that isn't only that of the others.
bool IsOwn(const Status& status) {
  return !status.ok() && !Stopped(status) && status.code() != StatusCode::kAborted;
}

class GroupTrainer final : public LocalTrainer {
 public:
  GroupTrainer(std::unique_ptr<RankGroup> group, std::unique_ptr<LocalTrainer> own,
               std::vector<RankLink> others, Nanoseconds timeout)
      : timeout_(timeout),
        others_(std::move(others)),
        group_(std::move(group)),
        own_(std::move(own)) {}

  Status Connect() {
    INTERLUDE_RETURN_IF_ERROR(Judge(OkStatus(), Hear(timeout_)));
    const RankMessage order{.kind = static_cast<uint32_t>(RankOrder::kConnect)};
    return Together(order, [&] { return group_->Connect(); }).status();
  }

  const Layout& layout() const override { return own_->layout(); }
  std::span<float> parameters() override { return own_->parameters(); }
  bool MayProvideBase() const override { return own_->MayProvideBase(); }
  DataFacts data_facts() const override { return own_->data_facts(); }
  StatusOr<std::unique_ptr<ModelCopy>> MakeDeviceCopy(const RoundConfig& config) override {
    return own_->MakeDeviceCopy(config);
  }

  StatusOr<TrainResult> TrainRound(const TrainRequest& request,
                                   const StepCallback& on_step) override {
    StatusOr<TrainResult> own = InternalError("not trained");
    const auto answers = Together(TrainOrder(request), [&] {
      own = own_->TrainRound(request, on_step);
      return own.status();
    });
    if (!answers.ok()) return answers.status();
    return own;
  }

  StatusOr<EvaluationResult> Evaluate(uint32_t part, uint32_t parts) override {
    StatusOr<EvaluationResult> own = InternalError("not evaluated");
    const auto answers = Together(EvaluateOrder(part, parts), [&] {
      own = own_->Evaluate(part, parts);
      return own.status();
    });
    if (!answers.ok()) return answers.status();
    EvaluationResult sum = *std::move(own);
    for (const StatusOr<RankMessage>& answer : *answers)
      AddEvaluation(ReadEvaluation(*answer), sum);
    return sum;
  }

 private:
  /// Gives the order, does rank 0's part, and hears the others. OK only where all are.
  template <typename Part>
  StatusOr<Answers> Together(const RankMessage& order, const Part& own_part) {
    INTERLUDE_RETURN_IF_ERROR(broken_);
    for (RankLink& other : others_) {
      if (!other.channel.Send(order).ok()) return broken_ = Ended(other);
    }
    const Status own = own_part();
    if (IsOwn(own)) return broken_ = own;
    Answers answers =
        Hear(own.code() == StatusCode::kAborted ? std::min(kGrace, timeout_) : timeout_);
    INTERLUDE_RETURN_IF_ERROR(Judge(own, answers));
    return answers;
  }

  Answers Hear(Nanoseconds patience) {
    const auto until = std::chrono::steady_clock::now() + patience;
    Answers answers;
    for (RankLink& other : others_) {
      const Nanoseconds left = until - std::chrono::steady_clock::now();
      answers.push_back(other.channel.Receive(std::max(left, Nanoseconds(0))));
    }
    return answers;
  }

  /// What came of it. What is not a stop that all know of is the end of the group.
  Status Judge(const Status& own, const Answers& answers) {
    const bool together = std::ranges::all_of(answers, [&](const StatusOr<RankMessage>& answer) {
      if (!answer.ok()) return false;
      const Status status = AnswerStatus(*answer);
      return status.ok() || (Stopped(status) && Stopped(own));
    });
    if (together && (own.ok() || Stopped(own))) return own;
    return broken_ = Cause(own, answers);
  }

  /// The word that tells most. The others' failures follow from the first one's.
  Status Cause(const Status& own, const Answers& answers) const {
    for (size_t i = 0; i < answers.size(); ++i) {
      if (answers[i].status().code() == StatusCode::kUnavailable) return Ended(others_[i]);
    }
    for (size_t i = 0; i < answers.size(); ++i) {
      const Status status = answers[i].ok() ? AnswerStatus(*answers[i]) : OkStatus();
      if (IsOwn(status))
        return Status(status.code(), fmt::format("{}: {}", others_[i].name, status.message()));
    }
    if (!std::ranges::all_of(answers, &StatusOr<RankMessage>::ok)) return Silent(answers);
    if (!own.ok()) return own;
    for (size_t i = 0; i < answers.size(); ++i) {
      const Status status = AnswerStatus(*answers[i]);
      if (!status.ok()) return InternalError("{}: {}", others_[i].name, status.message());
    }
    return InternalError("the ranks of this worker do not agree on how a round ended");
  }

  static Status Ended(const RankLink& rank) {
    return InternalError("{} of this worker has ended: {}; its last lines in this log may say why",
                         rank.name, rank.how_it_ended());
  }

  // All of them: which one keeps the others waiting is not known.
  Status Silent(const Answers& answers) const {
    std::vector<std::string_view> names;
    for (size_t i = 0; i < answers.size(); ++i) {
      const Status& status = answers[i].status();
      if (status.code() == StatusCode::kDeadlineExceeded) {
        names.push_back(others_[i].name);
      } else if (!status.ok()) {
        return InternalError("{} of this worker: {}", others_[i].name, status.message());
      }
    }
    return InternalError(
        "no answer from {} of this worker within {} s (--rank-timeout): stopped, or a device hangs",
        fmt::join(names, ", "), std::chrono::ceil<std::chrono::seconds>(timeout_).count());
  }

  const Nanoseconds timeout_;
  std::vector<RankLink> others_;
  // In this order, so that nobody is left waiting: the others go last.
  std::unique_ptr<RankGroup> group_;
  std::unique_ptr<LocalTrainer> own_;
  Status broken_;  // after the first error; nothing works then
};

RankMessage CarryOut(const RankMessage& order, RankGroup& group, LocalTrainer& trainer) {
  switch (static_cast<RankOrder>(order.kind)) {
    case RankOrder::kConnect:
      return Answer(group.Connect());
    case RankOrder::kTrain:
      return Answer(trainer.TrainRound(ReadTrainOrder(order), nullptr).status());
    case RankOrder::kEvaluate: {
      const auto [part, parts] = ReadEvaluateOrder(order);
      const StatusOr<EvaluationResult> result = trainer.Evaluate(part, parts);
      return result.ok() ? Answer(*result) : Answer(result.status());
    }
  }
  return Answer(InternalError("rank 0 ordered what is not known here ({})", order.kind));
}

}  // namespace

StatusOr<std::unique_ptr<LocalTrainer>> CreateGroupTrainer(std::unique_ptr<RankGroup> group,
                                                           std::unique_ptr<LocalTrainer> own,
                                                           std::vector<RankLink> others,
                                                           Nanoseconds timeout) {
  auto trainer =
      std::make_unique<GroupTrainer>(std::move(group), std::move(own), std::move(others), timeout);
  INTERLUDE_RETURN_IF_ERROR(trainer->Connect());
  return std::unique_ptr<LocalTrainer>(std::move(trainer));
}

Status ServeRank(RankChannel& channel, RankGroup& group,
                 StatusOr<std::unique_ptr<LocalTrainer>> trainer) {
  Status status = trainer.status();
  RankMessage answer = Answer(status);  // ready, or not
  for (;;) {
    const Status sent = channel.Send(answer);
    if (!status.ok() && !Stopped(status)) return status;
    const StatusOr<RankMessage> order = sent.ok() ? channel.Receive() : sent;
    if (order.status().code() == StatusCode::kUnavailable) return OkStatus();
    INTERLUDE_RETURN_IF_ERROR(order.status());
    answer = CarryOut(*order, group, **trainer);
    status = AnswerStatus(answer);
  }
}

}  // namespace interlude
