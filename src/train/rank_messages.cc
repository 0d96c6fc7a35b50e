#include "train/rank_messages.h"

#include <bit>
#include <map>

namespace interlude {

namespace {

constexpr size_t kEvaluationNumbers = 5;  // before those of the cells

uint32_t Kind(RankOrder order) { return static_cast<uint32_t>(order); }

}  // namespace

RankMessage TrainOrder(const TrainRequest& request) {
  return {.kind = Kind(RankOrder::kTrain),
          .numbers = {request.round, request.first_step, request.local_steps}};
}

TrainRequest ReadTrainOrder(const RankMessage& order) {
  return {.round = static_cast<uint32_t>(order.numbers.at(0)),
          .first_step = order.numbers.at(1),
          .local_steps = static_cast<uint32_t>(order.numbers.at(2))};
}

RankMessage EvaluateOrder(uint32_t part, uint32_t parts) {
  return {.kind = Kind(RankOrder::kEvaluate), .numbers = {part, parts}};
}

std::pair<uint32_t, uint32_t> ReadEvaluateOrder(const RankMessage& order) {
  return {static_cast<uint32_t>(order.numbers.at(0)), static_cast<uint32_t>(order.numbers.at(1))};
}

RankMessage Answer(const Status& status) {
  return {.kind = static_cast<uint32_t>(status.code()), .text = status.message()};
}

Status AnswerStatus(const RankMessage& answer) {
  return Status(static_cast<StatusCode>(answer.kind), answer.text);
}

RankMessage Answer(const EvaluationResult& result) {
  RankMessage answer = Answer(OkStatus());
  answer.numbers = {result.correct, result.samples, std::bit_cast<uint64_t>(result.loss_sum),
                    result.classes, result.top5};
  for (const ConfusionCell& cell : result.confusion)
    answer.numbers.insert(answer.numbers.end(), {cell.label, cell.predicted, cell.count});
  return answer;
}

EvaluationResult ReadEvaluation(const RankMessage& answer) {
  const std::vector<uint64_t>& numbers = answer.numbers;
  EvaluationResult result{.correct = numbers.at(0),
                          .samples = numbers.at(1),
                          .loss_sum = std::bit_cast<double>(numbers.at(2)),
                          .classes = static_cast<uint32_t>(numbers.at(3)),
                          .top5 = numbers.at(4)};
  for (size_t i = kEvaluationNumbers; i + 2 < numbers.size(); i += 3) {
    result.confusion.push_back(
        {static_cast<uint32_t>(numbers[i]), static_cast<uint32_t>(numbers[i + 1]), numbers[i + 2]});
  }
  return result;
}

void AddEvaluation(const EvaluationResult& part, EvaluationResult& sum) {
  sum.correct += part.correct;
  sum.samples += part.samples;
  sum.loss_sum += part.loss_sum;
  sum.top5 += part.top5;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> counts;
  for (const Confusion& confusion : {sum.confusion, part.confusion}) {
    for (const ConfusionCell& cell : confusion) counts[{cell.label, cell.predicted}] += cell.count;
  }
  sum.confusion.clear();
  for (const auto& [classes, count] : counts)
    sum.confusion.push_back({classes.first, classes.second, count});
}

}  // namespace interlude
