#include "analysis/loading.h"

#include "analysis/span_split.h"

namespace interlude::internal {
namespace {

/// Of one round.
int64_t SavingOf(const ByWorker& trainings, const std::set<int32_t>& workers, int64_t on_path_ns) {
  int64_t longest = 0, longest_without = 0;
  for (const auto& [worker, training] : trainings) {
    const int64_t waited = workers.contains(worker) ? training.waited_ns : 0;
    longest = std::max(longest, training.length_ns);
    longest_without = std::max(longest_without, training.length_ns - waited);
  }
  return std::min(longest - longest_without, on_path_ns);
}

}  // namespace

std::map<uint32_t, ByWorker> TrainingsOf(const FindingContext& context) {
  std::map<uint32_t, ByWorker> rounds;
  for (const Span& span : context.input.tables.spans) {
    if (!context.measured.contains(span.round) || span.recorded_by < 0 || !span.ok) continue;
    if (span.phase != Phase::kLoad && span.phase != Phase::kTrain) continue;
    Training& training = rounds[span.round][span.recorded_by];
    if (span.phase == Phase::kTrain) {
      training.cpu_ns = std::max<int64_t>(0, span.cpu_ns);
      training.length_ns = SplitSpan(span).inside_ns();
    } else {
      training.waited_ns = std::max<int64_t>(0, span.busy_ns);
      training.loading_ns = std::max<int64_t>(0, span.cpu_ns);
    }
  }
  for (const WorkerRoundRecord& part : context.input.tables.parts) {
    const auto round = rounds.find(part.round);
    if (round == rounds.end()) continue;
    const auto worker = round->second.find(part.worker);
    if (worker != round->second.end()) worker->second.samples = part.samples;
  }
  for (auto& [number, workers] : rounds) {
    for (auto& [worker, training] : workers)
      training.waited_ns = std::min(training.waited_ns, training.length_ns);
  }
  return rounds;
}

int64_t SavingWithoutWaits(const FindingContext& context,
                           const std::map<uint32_t, ByWorker>& rounds,
                           const std::set<int32_t>& workers) {
  std::map<uint32_t, int64_t> on_path;
  for (const PathShare& share : context.path) {
    if (share.what == "train" && workers.contains(share.worker))
      AddTo(on_path[share.round], share.ns);
  }
  int64_t saving = 0;
  for (const auto& [number, ns] : on_path) {
    const auto round = rounds.find(number);
    if (round != rounds.end()) AddTo(saving, SavingOf(round->second, workers, ns));
  }
  return saving;
}

int64_t LongestWaitPerRound(const std::map<uint32_t, ByWorker>& rounds,
                            const std::set<int32_t>& of) {
  int64_t sum = 0;
  for (const auto& [number, workers] : rounds) {
    int64_t longest = 0;
    for (const auto& [worker, training] : workers) {
      if (of.contains(worker)) longest = std::max(longest, training.waited_ns);
    }
    AddTo(sum, longest);
  }
  return rounds.empty() ? 0 : sum / static_cast<int64_t>(rounds.size());
}

}  // namespace interlude::internal
