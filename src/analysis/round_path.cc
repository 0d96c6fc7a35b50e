#include "analysis/round_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/drag.h"
#include "analysis/hand_over.h"
#include "analysis/round_graph.h"

namespace interlude {
namespace {

constexpr int64_t kMostNs = int64_t{1} << 60;

bool Usable(const RoundRecord& round) {
  return round.begin_ns >= -kMostNs && round.end_ns <= kMostNs && round.begin_ns < round.end_ns;
}

/// How far the two clocks at the ends of a piece may be apart from what is assumed.
int64_t ErrorOf(const WalkPiece& piece, const std::map<int32_t, WorkerClock>& clocks) {
  if (piece.begin_clock == piece.end_clock) return 0;
  int64_t error_ns = 0;
  for (const int32_t clock : {piece.begin_clock, piece.end_clock}) {
    const auto found = clocks.find(clock);
    if (found != clocks.end()) error_ns += found->second.error_ns;
  }
  return error_ns;
}

bool Continues(const PathPiece& before, const PathPiece& piece) {
  return before.what == piece.what && before.worker == piece.worker &&
         before.chunk == piece.chunk && before.next == piece.next;
}

/// What tells whether a gap is a hand-over.
struct GapFacts {
  const ActivityGraph& graph;
  const std::map<int32_t, WorkerClock>& clocks;
  const ThrottlingByWorker* throttling;
};

bool IsHandedOver(const WalkPiece& gap, const GapFacts& facts) {
  if (!gap.before) return false;
  const auto clock = facts.clocks.find(gap.end_clock);
  if (clock == facts.clocks.end() || facts.throttling == nullptr)
    return IsHandOver(facts.graph, *gap.before, gap);
  const auto found = facts.throttling->find(gap.end_clock);
  return IsHandOver(facts.graph, *gap.before, gap,
                    found == facts.throttling->end() ? nullptr : &found->second,
                    clock->second.shift_ns);
}

ActivityKind WhatOf(const WalkPiece& walked, const GapFacts& facts) {
  if (!walked.gap) return facts.graph[walked.activity].kind;
  return IsHandedOver(walked, facts) ? ActivityKind::kHandOver : ActivityKind::kUnexplained;
}

/// The two parts of a chunk's link become one piece.
std::vector<PathPiece> NamePieces(const std::pmr::vector<WalkPiece>& walk, const GapFacts& facts) {
  std::pmr::vector<PathPiece> pieces(facts.graph.get_allocator());
  pieces.reserve(walk.size());
  for (const WalkPiece& walked : walk) {
    const Activity& activity = facts.graph[walked.activity];
    const PathPiece piece{.what = WhatOf(walked, facts),
                          .worker = activity.worker,
                          .chunk = activity.chunk,
                          .next = activity.kind,
                          .begin_ns = walked.begin_ns,
                          .end_ns = walked.end_ns,
                          .error_ns = ErrorOf(walked, facts.clocks)};
    if (!pieces.empty() && Continues(pieces.back(), piece)) {
      pieces.back().end_ns = piece.end_ns;
      pieces.back().error_ns = std::max(pieces.back().error_ns, piece.error_ns);
    } else {
      pieces.push_back(piece);
    }
  }
  return {pieces.begin(), pieces.end()};  // no larger than they are: those of all rounds are kept
}

std::vector<int32_t> WorkersOn(const std::vector<PathPiece>& pieces) {
  std::set<int32_t> workers;
  for (const PathPiece& piece : pieces) {
    if (piece.worker != kNoWorker) workers.insert(piece.worker);
  }
  return {workers.begin(), workers.end()};
}

std::map<int32_t, int64_t> SlackByWorker(const RoundGraph& graph, const GraphTimes& times) {
  std::pmr::vector<int64_t> slack(graph.activities.size(), graph.activities.get_allocator());
  times.FillSlack(slack);
  std::map<int32_t, int64_t> least;
  auto of_worker = least.end();  // of the worker before, which is mostly this
  for (size_t i = 0; i < graph.activities.size(); ++i) {
    const Activity& activity = graph.activities[i];
    if (activity.kind == ActivityKind::kWaitDeadline) continue;  // the others' waiting
    if (of_worker == least.end() || of_worker->first != activity.worker)
      of_worker = least.try_emplace(activity.worker, slack[i]).first;
    of_worker->second = std::min(of_worker->second, slack[i]);
  }
  return least;
}

std::vector<WorkerPath> WorkersOf(const RoundGraph& graph, const std::vector<PathPiece>& pieces,
                                  const std::map<int32_t, WorkerClock>& clocks) {
  const GraphTimes times(graph.activities, graph.last);
  const std::map<int32_t, int64_t> slack = SlackByWorker(graph, times);
  const std::map<int32_t, int64_t> drag =
      DragOf(graph.activities, times, graph.last, WorkersOn(pieces));
  std::vector<WorkerPath> workers;
  for (const auto& [worker, clock] : clocks) {
    WorkerPath& path = workers.emplace_back();
    path.worker = worker;
    path.clock = clock;
    if (const auto found = slack.find(worker); found != slack.end()) path.slack_ns = found->second;
    if (const auto found = drag.find(worker); found != drag.end()) path.drag_ns = found->second;
  }
  return workers;
}

std::vector<std::string> NotesOf(const PhaseTimes& times,
                                 const std::map<int32_t, WorkerClock>& clocks) {
  std::vector<std::string> notes;
  if (times.coarse())
    notes.push_back("some phases have no chunk stamps: each counts as a whole, by its end");
  for (const auto& [worker, clock] : clocks) {
    if (clock.source == ClockSource::kNone)
      notes.push_back(fmt::format(
          "worker {}: its clock is not known, so its own records are left out", worker));
    if (clock.source == ClockSource::kCausality)
      notes.push_back(fmt::format("worker {}: clock from causality, to within {:.3f} ms", worker,
                                  static_cast<double>(clock.error_ns) / 1e6));
    if (clock.contradiction_ns > 0)
      notes.push_back(fmt::format("worker {}: its messages contradict each other by {:.3f} ms",
                                  worker, static_cast<double>(clock.contradiction_ns) / 1e6));
  }
  return notes;
}

}  // namespace

RoundPath FindRoundPath(const RoundRecords& records) {
  const RoundRecord& round = records.round;
  RoundPath path{.round = round.round, .begin_ns = round.begin_ns, .end_ns = round.end_ns};
  if (!Usable(round)) {
    path.notes.push_back("the round's begin and end cannot be");
    path.end_ns = path.begin_ns;
    return path;
  }
  PhaseTimes times(records);
  const std::map<int32_t, WorkerClock> clocks = PlaceClocks(records, times);
  for (const auto& [worker, clock] : clocks) times.Shift(worker, clock.shift_ns);
  const RoundGraph graph = BuildRoundGraph(records, times, clocks);
  path.pieces = NamePieces(CriticalPath(graph.activities, graph.last, round.begin_ns, round.end_ns),
                           {graph.activities, clocks, records.throttling});
  for (const PathPiece& piece : path.pieces) {
    if (piece.what == ActivityKind::kUnexplained)
      path.unexplained_ns += piece.end_ns - piece.begin_ns;
  }
  path.workers = WorkersOf(graph, path.pieces, clocks);
  path.notes = NotesOf(times, clocks);
  return path;
}

PathSums SumPieces(const std::vector<PathPiece>& pieces) {
  PathSums sums;
  for (const PathPiece& piece : pieces)
    sums[{piece.what, piece.worker}] += piece.end_ns - piece.begin_ns;
  return sums;
}

}  // namespace interlude
