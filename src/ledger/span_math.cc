#include "ledger/span_math.h"

#include <algorithm>

namespace interlude {
namespace {

struct WorkerExchange {
  int64_t trained_ns = 0;
  int64_t end_ns = 0;  // not before trained_ns
  bool verified = false;
  bool failed = false;
};

}  // namespace

bool IsExchangePhase(Phase phase) {
  switch (phase) {
    case Phase::kEncode:
    case Phase::kUpload:
    case Phase::kWait:
    case Phase::kDownload:
    case Phase::kApply:
    case Phase::kVerify:
      return true;
    default:
      return false;
  }
}

std::map<int32_t, double> ExchangeSecondsByWorker(std::span<const Span> spans) {
  std::map<int32_t, WorkerExchange> workers;
  for (const Span& span : spans) {
    if (span.phase != Phase::kTrain || !IsPossible(span)) continue;
    const auto [it, first] = workers.try_emplace(span.recorded_by);
    WorkerExchange& worker = it->second;
    worker.trained_ns = first ? span.end_ns : std::max(worker.trained_ns, span.end_ns);
    worker.end_ns = worker.trained_ns;
  }
  for (const Span& span : spans) {
    const auto found = workers.find(span.recorded_by);
    if (found == workers.end() || !IsExchangePhase(span.phase) || !IsPossible(span)) continue;
    WorkerExchange& worker = found->second;
    if (span.end_ns < worker.trained_ns) continue;  // of an earlier attempt at the round
    worker.end_ns = std::max(worker.end_ns, span.end_ns);
    worker.verified = worker.verified || span.phase == Phase::kVerify;
    worker.failed = worker.failed || !span.ok;
  }
  std::map<int32_t, double> seconds;
  for (const auto& [id, worker] : workers) {
    if (!worker.verified || worker.failed) continue;
    seconds[id] = SecondsBetween(worker.trained_ns, worker.end_ns);
  }
  return seconds;
}

}  // namespace interlude
