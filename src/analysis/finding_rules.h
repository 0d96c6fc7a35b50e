// The rules that make findings. Inside analysis/. Pure functions; any thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/findings.h"

namespace interlude::internal {

/// What all rules look at.
struct FindingContext {
  const FindingTables& input;
  const std::vector<WorkerRoundCause>& causes;
  const Drags& drags;
  std::span<const PathShare> path;
  std::map<uint32_t, const RoundRecord*> measured;  // all but the first, when there are more
  int64_t wall_ns = 0;                              // of the measured rounds

  double ShareOf(int64_t ns) const {
    return wall_ns > 0 ? static_cast<double>(ns) / static_cast<double>(wall_ns) : 0;
  }
  /// Fills in what `ns` in all measured rounds together mean for one.
  void SetSaving(int64_t ns, Finding& finding) const;
  /// Nanoseconds on the path of the measured rounds.
  int64_t OnPath(const std::set<std::string_view>& what) const;
};

using Findings = std::vector<Finding>;

void FindStragglers(const FindingContext& context, Findings& out);
void FindOnPath(const FindingContext& context, Findings& out);  // exchange, save, evaluation, ...
void FindHostTroubles(const FindingContext& context, Findings& out);  // threads, shared, memory
void FindLoading(const FindingContext& context, Findings& out);       // training waits for pictures
void FindClockTroubles(const FindingContext& context, Findings& out);
void FindEvents(const FindingContext& context, Findings& out);
void FindWrongResults(const FindingContext& context, Findings& out);

/// "3, 7", for a query.
std::string Listed(const std::set<int32_t>& workers);
/// "round 5", "rounds 3 to 9", "12 rounds from 3 to 40".
std::string RoundsText(const std::set<uint32_t>& rounds);
/// "12 %", "3.4 %".
std::string Percent(double share);

}  // namespace interlude::internal
