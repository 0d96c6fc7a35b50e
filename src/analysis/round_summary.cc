#include "analysis/round_summary.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/analyze_run.h"
#include "ledger/span_math.h"

namespace interlude {
namespace {

void AddTraining(const std::map<int32_t, WorkerTimes>& workers, RoundSummary& summary) {
  std::vector<double> shares;
  for (const auto& [worker, times] : workers) {
    if (!times.trained) continue;
    shares.push_back(ShareOf(times.train, summary.wall_seconds));
    if (summary.slowest_train_seconds && times.train <= *summary.slowest_train_seconds) continue;
    summary.slowest_train_seconds = times.train;
    summary.slowest_worker = worker;
  }
  summary.train_share = SpreadOf(std::move(shares));
}

Spread ExchangeOf(std::span<const Span> spans) {
  std::vector<double> seconds;
  for (const auto& [worker, of_worker] : ExchangeSecondsByWorker(spans))
    seconds.push_back(of_worker);
  return SpreadOf(std::move(seconds));
}

void AddParts(std::span<const WorkerRoundRecord> parts, RoundSummary& summary) {
  std::vector<double> up, down;
  for (const WorkerRoundRecord& part : parts) {
    up.push_back(static_cast<double>(part.upload_bytes));
    down.push_back(static_cast<double>(part.download_bytes));
    summary.repaired_chunks += part.repaired_chunks;
    if (part.root_hash.empty()) {
      summary.unverified_workers.push_back(part.worker);
    } else if (part.root_hash != summary.root_hash) {
      summary.disagreeing_workers.push_back(part.worker);
    }
  }
  summary.upload_bytes = SpreadOf(std::move(up));
  summary.download_bytes = SpreadOf(std::move(down));
}

std::optional<RoundStages> StagesOf(const RoundRecord& round) {
  const bool in_order =
      round.begin_ns <= round.first_delta_ns && round.first_delta_ns <= round.last_delta_ns &&
      round.last_delta_ns <= round.committed_ns && round.committed_ns <= round.end_ns;
  if (!in_order) return std::nullopt;
  return RoundStages{SecondsBetween(round.begin_ns, round.first_delta_ns),
                     SecondsBetween(round.first_delta_ns, round.last_delta_ns),
                     SecondsBetween(round.last_delta_ns, round.committed_ns),
                     SecondsBetween(round.committed_ns, round.end_ns)};
}

}  // namespace

std::map<int32_t, WorkerTimes> TimesByWorker(std::span<const Span> spans) {
  std::map<int32_t, WorkerTimes> workers;
  for (const Span& span : spans) {
    if (!IsWorkerPhase(span.phase) || !IsPossible(span)) continue;
    WorkerTimes& times = workers[span.recorded_by];
    const double inside = InsideSeconds(span);
    times.run_delay += Seconds(span.run_delay_ns);
    if (span.phase == Phase::kTrain) times.train += inside;
    if (span.phase == Phase::kEncode) times.encode += inside;
    if (span.phase == Phase::kApply) times.apply += inside;
    times.trained = times.trained || span.phase == Phase::kTrain;
  }
  return workers;
}

double ShareOf(double part, double whole) { return whole > 0 ? std::min(1.0, part / whole) : 0; }

RoundSummary SummarizeRound(const RoundRecord& round, std::span<const Span> spans,
                            std::span<const WorkerRoundRecord> parts) {
  RoundSummary summary;
  summary.round = round.round;
  summary.wall_seconds = std::max(0.0, SecondsBetween(round.begin_ns, round.end_ns));
  summary.workers = round.workers;
  summary.samples = round.samples;
  summary.mean_loss = round.mean_loss;
  summary.root_hash = round.root_hash;
  summary.stages = StagesOf(round);
  if (summary.stages && round.begin_ns <= round.first_sync_ns &&
      round.first_sync_ns <= round.end_ns) {
    summary.first_sync_after_last_delta_seconds =
        SecondsBetween(round.last_delta_ns, round.first_sync_ns);
  }
  summary.phases = SummarizePhases(spans);
  AddTraining(TimesByWorker(spans), summary);
  summary.exchange_of_workers = ExchangeOf(spans);
  AddParts(parts, summary);
  return summary;
}

}  // namespace interlude
