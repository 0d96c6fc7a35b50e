// Why a worker was slow in a round: which cause explains how much of its excess over the median
// worker. A cause is observed only where what was measured explains at least 80 % of the excess;
// otherwise it is a hypothesis. Every rule with its arithmetic: docs/report.md, "Causes and
// findings". Pure functions; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/phase_facts.h"

namespace interlude {

enum class CauseKind : uint8_t {
  kQuota,          // the CPU quota of its cgroup held it up
  kOwnThreads,     // its own threads waited for each other: they demand more than its cores
  kNeighbours,     // other processes, or other machines on the same hardware, had the CPUs
  kDisk,           // it waited for a disk
  kBandwidth,      // the link, or the receiver, takes no more bytes a second
  kLatencyOrLoss,  // the way is long, or bytes were lost and sent again
  kMemory,         // its pages were taken away and had to be read again
  kPictures,       // its training stood still until the next batch was ready
  kOtherWork,      // the work itself took longer: a slower device, fewer threads, more samples
  kUnknown,
};
inline constexpr size_t kCauseKinds = 10;

/// "quota", "own_threads", "neighbours", "disk", "bandwidth", "latency_or_loss", "memory",
/// "pictures", "other_work", "unknown": the name in JSON.
std::string_view CauseName(CauseKind kind);
/// One letter for a cell of a table: Q T N D B L M P W ?
char CauseLetter(CauseKind kind);

enum class Grade : uint8_t { kObserved, kHypothesis };
/// "observed", "hypothesis".
std::string_view GradeName(Grade grade);

/// Of an excess: what the figures show, and what is left to this cause by exclusion or for want of
/// figures.
struct CauseShare {
  int64_t measured_ns = 0;
  int64_t supposed_ns = 0;
  int64_t all_ns() const { return measured_ns + supposed_ns; }
};

/// One phase in which the worker exceeded the median worker.
struct PhaseExcess {
  Phase phase = Phase::kTrain;
  int64_t taken_ns = 0;   // its busy time
  int64_t median_ns = 0;  // the median worker's
  int32_t median_worker = kNoWorker;
  uint32_t median_round = 0;  // another round where a worker is alone and compared with itself
  int64_t excess_ns() const { return taken_ns - median_ns; }
};

struct Cause {
  CauseKind kind = CauseKind::kUnknown;
  char letter = '?';
  int64_t explained_ns = 0;  // by this kind, measured and supposed; at most excess_ns
  int64_t excess_ns = 0;     // over the phases
  Grade grade = Grade::kHypothesis;
  std::vector<PhaseExcess> phases;             // the largest excess first
  std::array<CauseShare, kCauseKinds> shares;  // by CauseKind; together at most excess_ns
  std::vector<std::string> evidence;           // sentences with figures
  std::vector<std::string> missing;  // figures that were not there, and what would settle it
  /// Of a phase's name in a finding: "its cgroup allows 0.25 of 8 visible CPUs ..."; without
  /// capital and full stop.
  std::string reason;

  double share() const {
    return excess_ns > 0 ? static_cast<double>(explained_ns) / static_cast<double>(excess_ns) : 0;
  }
};

struct WorkerRoundCause {
  uint32_t round = 0;
  int32_t worker = kNoWorker;
  Cause cause;
};

/// The excess that is worth a cause: both, over all phases of the worker together.
inline constexpr int64_t kWorthwhileNs = 20'000'000;
inline constexpr double kWorthwhileShare = 0.10;  // of the round's wall time
bool IsWorthwhile(int64_t ns, const RoundRecord& round);
/// From here on a cause is observed.
inline constexpr double kObservedShare = 0.80;
/// Below it the largest part is none, and the cause unknown.
inline constexpr double kLeastShare = 0.30;

/// By round and worker: over its phases, what it took longer than the median worker; 0 where it
/// took no longer anywhere. Whoever has no phase of its own in the round, or nobody to be compared
/// with, is not there.
using Excesses = std::map<std::pair<uint32_t, int32_t>, int64_t>;

/// For every worker and finished round with a worthwhile excess, by round and worker. A worker that
/// is alone in the run is compared with its own median round. `excesses`, where given, gets what
/// the causes' `excess_ns` are chosen from: of all workers and finished rounds. Cost: the number of
/// spans, times its logarithm.
std::vector<WorkerRoundCause> FindCauses(const CauseTables& tables, Excesses* excesses = nullptr);

/// What making a worker as fast as the median would save, by round and worker.
using Drags = std::map<std::pair<uint32_t, int32_t>, int64_t>;

/// For want of drags: of each round the worker with the largest excess, by which it exceeds the
/// next one's.
Drags DragsFromExcess(const std::vector<WorkerRoundCause>& causes);

}  // namespace interlude
