#include <algorithm>
#include <limits>

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

void SortByRound(auto& records) {
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.round < b.round; });
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
  SortByRound(run.account.spans);
  SortByRound(run.account.stamps);
  run.clocks = PlaceTraceClocks(run.workers, run.rounds, run.account, records);
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
    if (!clock.probed()) unknown.push_back(worker);
  }
  if (!unknown.empty() && clocks == TraceClocks::kCorrected) {
    notes.push_back(fmt::format(
        "nobody probed the clock{} of worker{} {}: what was recorded there is placed by "
        "the messages between the two, none of which arrives before it was sent",
        unknown.size() > 1 ? "s" : "", unknown.size() > 1 ? "s" : "", fmt::join(unknown, ", ")));
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
