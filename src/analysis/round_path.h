// The critical path of a round, to the nanosecond: which activity held the round up, from its begin
// to its end, and what each worker has to do with it. Plain values; pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/activity_graph.h"
#include "analysis/round_clock.h"
#include "analysis/round_records.h"

namespace interlude {

struct PathPiece {
  ActivityKind what = ActivityKind::kUnexplained;
  /// Whose it is; kNoWorker: the coordinator's. Of an unexplained piece and a hand-over: whose the
  /// next one is.
  int32_t worker = kNoWorker;
  uint32_t chunk = kNoChunk;
  /// Of an unexplained piece and a hand-over what was done next (kJoin: the round ended); else the
  /// same as `what`.
  ActivityKind next = ActivityKind::kUnexplained;
  int64_t begin_ns = 0;  // coordinator's clock
  int64_t end_ns = 0;
  /// The piece may be so much longer or shorter, at the cost of a neighbour: it lies between two
  /// clocks. 0 where one clock told both of its ends.
  int64_t error_ns = 0;
};

struct WorkerPath {
  int32_t worker = 0;
  /// The least by which one of its activities could have ended later without the round ending
  /// later; kUnlimitedSlack where none of them mattered.
  int64_t slack_ns = kUnlimitedSlack;
  int64_t drag_ns = 0;  // see analysis/drag.h
  WorkerClock clock;
};

struct RoundPath {
  uint32_t round = 0;
  int64_t begin_ns = 0;  // coordinator's clock
  int64_t end_ns = 0;
  /// In order of time, each from where the one before ended, none empty: they sum to
  /// end_ns - begin_ns exactly.
  std::vector<PathPiece> pieces;
  int64_t unexplained_ns = 0;
  std::vector<WorkerPath> workers;  // ascending
  /// What the records lack or contradict, as sentences.
  std::vector<std::string> notes;
};

/// Never fails: what cannot be used is left out, and what is then not known is unexplained. A round
/// that ends before it begins has no pieces.
RoundPath FindRoundPath(const RoundRecords& records);

using PathSums = std::map<std::pair<ActivityKind, int32_t>, int64_t>;
/// Nanoseconds by what and worker.
PathSums SumPieces(const std::vector<PathPiece>& pieces);

}  // namespace interlude
