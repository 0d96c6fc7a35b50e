#include "coordinator/evaluation_tally.h"

namespace interlude {

void EvaluationTally::Begin(uint32_t after_rounds, const std::vector<WorkerId>& workers,
                            bool are_all) {
  Open& open = open_[after_rounds];
  open.awaited.insert(workers.begin(), workers.end());
  open.whole = open.whole && are_all;
}

Status EvaluationTally::Report(WorkerId worker, const EvaluationReportMessage& report) {
  const auto it = open_.find(report.after_rounds);
  if (it == open_.end() || it->second.awaited.erase(worker) == 0) {
    return FailedPreconditionError(
        "worker {} reports an evaluation after {} rounds that it was not asked for", worker,
        report.after_rounds);
  }
  it->second.correct += report.correct;
  it->second.samples += report.samples;
  it->second.loss_sum += report.loss_sum;
  AddDetails(report, it->second);
  return OkStatus();
}

void EvaluationTally::AddDetails(const EvaluationReportMessage& report, Open& open) {
  if (report.samples == 0) return;
  if (open.classes == 0) open.classes = report.classes;
  if (report.classes == 0 || report.classes != open.classes) open.has_details = false;
  if (!open.has_details) return;
  open.top5 += report.top5;
  AddConfusion(report.confusion, open.confusion);
  if (open.confusion.size() > kMostConfusionCells) open.confusion.clear();
}

void EvaluationTally::WorkerLeft(WorkerId worker) {
  for (auto& [after_rounds, open] : open_) {
    if (open.awaited.erase(worker) != 0) open.whole = false;
  }
}

bool EvaluationTally::MayBecomeWhole(uint32_t after_rounds) const {
  const auto it = open_.find(after_rounds);
  return it != open_.end() && it->second.whole;
}

std::optional<EvaluationTally::Complete> EvaluationTally::TakeComplete() {
  for (auto it = open_.begin(); it != open_.end();) {
    if (!it->second.awaited.empty()) {
      ++it;
      continue;
    }
    const uint32_t after_rounds = it->first;
    const Open open = std::move(it->second);
    it = open_.erase(it);
    if (open.samples == 0) continue;
    Complete complete{.record = {}, .whole = open.whole};
    EvaluationRecord& record = complete.record;
    record.after_rounds = after_rounds;
    record.samples = open.samples;
    record.correct = open.correct;
    record.mean_loss = open.loss_sum / static_cast<double>(open.samples);
    if (open.has_details) {
      record.classes = open.classes;
      record.top5 = open.top5;
      // Not where a part has none.
      if (CheckConfusion(open.confusion, open.classes, open.samples, open.correct).ok())
        record.confusion = open.confusion;
    }
    return complete;
  }
  return std::nullopt;
}

}  // namespace interlude
