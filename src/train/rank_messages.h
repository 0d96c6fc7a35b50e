// What ranks say to each other, as RankMessages. Pure functions.
#pragma once

#include <utility>

#include "train/rank_channel.h"
#include "worker/local_trainer.h"

namespace interlude {

/// Of rank 0, as RankMessage::kind; each is answered once.
enum class RankOrder : uint32_t { kConnect, kTrain, kEvaluate };

RankMessage TrainOrder(const TrainRequest& request);
RankMessage EvaluateOrder(uint32_t part, uint32_t parts);
/// Precondition: the order's kind.
TrainRequest ReadTrainOrder(const RankMessage& order);
std::pair<uint32_t, uint32_t> ReadEvaluateOrder(const RankMessage& order);

/// An answer: how it went and, of an evaluation that went well, what came out.
RankMessage Answer(const Status& status);
RankMessage Answer(const EvaluationResult& result);
Status AnswerStatus(const RankMessage& answer);
EvaluationResult ReadEvaluation(const RankMessage& answer);

/// Adds up what parts of the test set gave.
void AddEvaluation(const EvaluationResult& part, EvaluationResult& sum);

}  // namespace interlude
