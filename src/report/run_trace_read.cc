#include <algorithm>
#include <limits>
#include <set>

#include "report/run_trace.h"

namespace interlude {
namespace {

struct Window {
  int64_t begin_ns = std::numeric_limits<int64_t>::max();
  int64_t end_ns = std::numeric_limits<int64_t>::min();

  void Take(int64_t begin, int64_t end) {
    begin_ns = std::min(begin_ns, begin);
    end_ns = std::max(end_ns, end);
  }
  bool Touches(int64_t begin, int64_t end) const { return begin <= end_ns && end >= begin_ns; }
};

/// When each process was busy with what is left of the run, on its own clock.
std::map<int32_t, Window> WindowsOf(const TraceRun& run) {
  std::map<int32_t, Window> windows;
  for (const Span& span : run.account.spans) {
    windows[span.recorded_by].Take(span.begin_ns, span.end_ns);
  }
  for (const RoundRecord& round : run.rounds) {
    windows[kNoWorker].Take(round.begin_ns, round.end_ns);
  }
  return windows;
}

/// By round, the moment at which the coordinator knew that `worker` was through with it.
std::map<uint32_t, int64_t> WhenHeardNs(const TraceRun& run, int32_t worker) {
  std::map<uint32_t, int64_t> heard;
  for (const RoundRecord& round : run.rounds) heard[round.round] = round.end_ns;
  for (const Span& span : run.account.spans) {
    if (span.phase == Phase::kReport && span.about_worker == worker)
      heard[span.round] = span.end_ns;
  }
  return heard;
}

ClockEstimate PlaceByReports(const TraceRun& run, int32_t worker) {
  ClockEstimate placed;
  placed.worker = worker;
  std::map<uint32_t, int64_t> ends;  // of its rounds, on its clock
  std::optional<int64_t> first_ns;
  for (const Span& span : run.account.spans) {
    if (span.recorded_by != worker) continue;
    first_ns = std::min(first_ns.value_or(span.begin_ns), span.begin_ns);
    if (span.phase == Phase::kVerify) ends[span.round] = std::max(ends[span.round], span.end_ns);
  }
  std::optional<int64_t> offset_ns;
  const auto heard = WhenHeardNs(run, worker);
  for (const auto& [round, end_ns] : ends) {
    const auto heard_ns = heard.find(round);
    if (heard_ns == heard.end()) continue;
    const int64_t most_ns = heard_ns->second - end_ns;
    offset_ns = std::min(offset_ns.value_or(most_ns), most_ns);
    placed.at_ns = end_ns;
  }
  if (!offset_ns && first_ns) {  // no round was finished: all that is known is when it joined
    placed.at_ns = *first_ns;
    for (const WorkerRecord& record : run.workers) {
      if (record.worker == worker) offset_ns = record.joined_ns - *first_ns;
    }
  }
  placed.offset_ns = offset_ns.value_or(0);
  return placed;
}

/// The records are in order: a worker's final estimate is its last.
std::map<int32_t, ClockEstimate> ClocksOf(const TraceRun& run,
                                          const std::vector<ClockRecord>& records) {
  std::map<int32_t, ClockEstimate> clocks;
  for (const ClockRecord& record : records) {
    if (record.estimate.method != ClockMethod::kNone) {
      clocks[record.estimate.worker] = record.estimate;
    }
  }
  std::set<int32_t> recorders;
  for (const Span& span : run.account.spans) recorders.insert(span.recorded_by);
  for (const int32_t worker : recorders) {
    if (worker != kNoWorker && !clocks.contains(worker)) {
      clocks[worker] = PlaceByReports(run, worker);
    }
  }
  return clocks;
}

}  // namespace

StatusOr<TraceRun> ReadTraceRun(const RunDatabase& database) {
  TraceRun run;
  INTERLUDE_ASSIGN_OR_RETURN(run.workers, database.Workers());
  INTERLUDE_ASSIGN_OR_RETURN(run.rounds, database.Rounds());
  INTERLUDE_ASSIGN_OR_RETURN(run.evaluations, database.Evaluations());
  INTERLUDE_ASSIGN_OR_RETURN(run.events, database.Events());
  INTERLUDE_ASSIGN_OR_RETURN(run.account.spans, database.Spans());
  INTERLUDE_ASSIGN_OR_RETURN(run.account.stamps, database.Stamps());
  INTERLUDE_ASSIGN_OR_RETURN(run.account.samples, database.Samples());
  INTERLUDE_ASSIGN_OR_RETURN(run.account.memory, database.Memory());
  const auto earlier = [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; };
  std::stable_sort(run.account.samples.begin(), run.account.samples.end(), earlier);
  std::stable_sort(run.account.memory.begin(), run.account.memory.end(), earlier);
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<ClockRecord> records, database.Clocks());
  run.clocks = ClocksOf(run, records);
  return run;
}

Status KeepRounds(TraceRun& run, uint32_t first, uint32_t last) {
  const auto other = [&](const auto& of_round) {
    return of_round.round < first || of_round.round > last;
  };
  std::erase_if(run.account.spans, other);
  std::erase_if(run.account.stamps, other);
  const uint32_t finished = run.rounds.empty() ? 0 : run.rounds.back().round;
  std::erase_if(run.rounds, other);
  if (run.rounds.empty() && run.account.spans.empty()) {
    const std::string asked = first == last ? fmt::format("round {}", first)
                                            : fmt::format("rounds {} to {}", first, last);
    return OutOfRangeError("the run has no {}; its last finished round is {}", asked, finished);
  }
  auto windows = WindowsOf(run);
  std::erase_if(run.account.samples, [&](const ProcessSample& sample) {
    return !windows[sample.recorded_by].Touches(sample.at_ns - sample.interval_ns, sample.at_ns);
  });
  std::erase_if(run.account.memory, [&](const MemoryRecord& memory) {
    return !windows[memory.recorded_by].Touches(memory.at_ns, memory.at_ns);
  });
  std::erase_if(run.events, [&](const EventRecord& event) {
    return !windows[kNoWorker].Touches(event.at_ns, event.at_ns);
  });
  return OkStatus();
}

std::vector<std::string> TraceNotes(const TraceRun& run, TraceClocks clocks) {
  std::vector<std::string> notes;
  std::vector<int32_t> unknown;
  for (const auto& [worker, clock] : run.clocks) {
    if (clock.method == ClockMethod::kNone) unknown.push_back(worker);
  }
  if (!unknown.empty() && clocks == TraceClocks::kCorrected) {
    notes.push_back(
        fmt::format("how the clock{} of worker{} {} stand{} to the coordinator's is not known; "
                    "what was recorded "
                    "there is placed so that no round ends there after the coordinator heard of it",
                    unknown.size() > 1 ? "s" : "", unknown.size() > 1 ? "s" : "",
                    fmt::join(unknown, ", "), unknown.size() > 1 ? "" : "s"));
  }
  const auto impossible =
      std::count_if(run.account.spans.begin(), run.account.spans.end(),
                    [](const Span& span) { return span.end_ns < span.begin_ns; });
  if (impossible > 0) {
    notes.push_back(fmt::format("{} spans end before they begin and are left out", impossible));
  }
  return notes;
}

}  // namespace interlude
