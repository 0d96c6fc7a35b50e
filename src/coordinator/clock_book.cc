#include "coordinator/clock_book.h"

#include <algorithm>
#include <span>

namespace interlude {

void ClockBook::Keep(const std::vector<ClockProbe>& probes) {
  for (const ClockProbe& probe : probes) {
    if (!probe.IsPossible()) continue;
    std::vector<ClockProbe>& kept = clocks_[probe.worker].probes;
    kept.push_back(probe);
    if (kept.size() > kMostProbes) KeepQuickest(kept, kMostProbes);
  }
}

ClockBook::RoundEnd ClockBook::EndRound(WorkerId worker) {
  WorkerClock& clock = clocks_[worker];
  ++clock.rounds;
  RoundEnd end{.estimate = {.worker = worker}};
  if (clock.probes.empty()) {
    end.still_unknown = clock.rounds == 2;
    return end;
  }
  const std::span<const ClockProbe> newest =
      std::span(clock.probes).last(std::min(clock.probes.size(), kMostLiveProbes));
  end.estimate = EstimateMinimum(newest, newest.back().returned_ns);
  return end;
}

std::vector<ClockEstimate> ClockBook::Final() const {
  std::vector<ClockEstimate> estimates;
  for (const auto& [worker, clock] : clocks_) {
    estimates.push_back(FitEnvelope(clock.probes));
    estimates.back().worker = worker;
  }
  return estimates;
}

}  // namespace interlude
