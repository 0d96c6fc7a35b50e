// The rules that divide one phase's excess among the causes. Inside analysis/. Pure functions; any
// thread.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "analysis/causes.h"

namespace interlude::internal {

/// What one phase says. Sentences stand beside the cause that they are about.
struct Explanation {
  int64_t excess_ns = 0;
  std::array<CauseShare, kCauseKinds> shares;
  std::array<std::vector<std::string>, kCauseKinds> evidence;
  std::array<std::string, kCauseKinds> reason;
  std::vector<std::string> missing;
};

/// The excess by kind of time; what the rules take from.
struct Budget {
  int64_t on_cpu_ns = 0;
  int64_t run_delay_ns = 0;
  int64_t blocked_ns = 0;
  int64_t all_ns() const { return on_cpu_ns + run_delay_ns + blocked_ns; }
};

/// One phase of a worker against the median worker's, while the rules pass over it.
class PhaseCase {
 public:
  PhaseCase(const PhaseFacts& own, const PhaseFacts& median);

  const PhaseFacts& own;
  const PhaseFacts& median;
  Budget left;
  Explanation result;

  /// Moves up to `wanted` from a part of the budget to a cause; what was moved.
  int64_t Take(CauseKind kind, int64_t Budget::*from, int64_t wanted, bool measured);
  void Say(CauseKind kind, std::string reason, std::string sentence);
  void Miss(std::string sentence);
};

void ExplainMemory(PhaseCase& phase);
void ExplainRunDelay(PhaseCase& phase);  // quota, neighbours, own threads
void ExplainDisk(PhaseCase& phase);
void ExplainLink(PhaseCase& phase);  // bandwidth, latency or loss
void ExplainWork(PhaseCase& phase);  // other work, and what is left

/// What its cgroup lets it have, for a sentence.
std::string Allowance(const PhaseFacts& facts);

/// All of them, in that order. The excess is positive.
Explanation Explain(const PhaseFacts& own, const PhaseFacts& median);

}  // namespace interlude::internal
