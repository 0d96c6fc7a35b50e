#include "report/trace_clocks.h"

#include <algorithm>
#include <span>

#include "analysis/run_clocks.h"

namespace interlude {
namespace {

using FirstTimes = std::map<int32_t, int64_t>;  // by worker, on its own clock

void Note(FirstTimes& times, int32_t process, int64_t at_ns) {
  if (process == kNoWorker) return;
  const auto [time, fresh] = times.try_emplace(process, at_ns);
  if (!fresh) time->second = std::min(time->second, at_ns);
}

void NoteAll(FirstTimes& times, std::span<const Span> spans, std::span<const ChunkStamps> stamps) {
  for (const Span& span : spans) {
    if (span.end_ns >= span.begin_ns) Note(times, span.recorded_by, span.begin_ns);
  }
  for (const ChunkStamps& of : stamps) {
    for (const ChunkStamp& stamp : of.stamps) Note(times, of.recorded_by, stamp.begin_ns);
  }
}

FirstTimes FirstTimesOf(const Account& account) {
  FirstTimes times;
  NoteAll(times, account.spans, account.stamps);
  for (const ProcessSample& sample : account.samples)
    Note(times, sample.recorded_by, sample.at_ns - sample.interval_ns);
  for (const MemoryRecord& memory : account.memory) Note(times, memory.recorded_by, memory.at_ns);
  return times;
}

template <typename Record>
std::span<const Record> OfRound(const std::vector<Record>& records, uint32_t round) {
  struct ByRound {
    bool operator()(const Record& record, uint32_t number) const { return record.round < number; }
    bool operator()(uint32_t number, const Record& record) const { return number < record.round; }
  };
  const auto [first, last] = std::equal_range(records.begin(), records.end(), round, ByRound());
  return {first, last};
}

/// Of a worker that is in no finished round: by its probes, else as if its first record were of the
/// moment at which it joined.
WorkerClock PlaceByJoining(int32_t worker, int64_t first_ns,
                           const std::vector<WorkerRecord>& workers, const RunClocks& clocks) {
  WorkerClock placed;
  for (const WorkerRecord& record : workers) {
    if (record.worker != worker) continue;
    if (__builtin_sub_overflow(record.joined_ns, first_ns, &placed.shift_ns)) placed.shift_ns = 0;
    const RoundRecord moment{.begin_ns = record.joined_ns, .end_ns = record.joined_ns};
    for (const ClockEstimate& estimate : clocks.For(moment)) {
      const auto shift_ns = ShiftAt(estimate, moment);
      if (estimate.worker == worker && shift_ns)
        placed = {ClockSource::kProbes, *shift_ns, estimate.error_ns};
    }
  }
  return placed;
}

}  // namespace

int64_t TraceClock::ShiftIn(uint32_t round) const {
  const auto after = rounds.upper_bound(round);
  return (after == rounds.begin() ? after : std::prev(after))->second.shift_ns;
}

int64_t TraceClock::ShiftAt(int64_t own_ns) const {
  const auto after = shifts.upper_bound(own_ns);
  return (after == shifts.begin() ? after : std::prev(after))->second;
}

int64_t TraceClock::error_ns() const {
  int64_t worst_ns = 0;
  for (const auto& [round, clock] : rounds) worst_ns = std::max(worst_ns, clock.error_ns);
  return worst_ns;
}

bool TraceClock::probed() const {
  return std::any_of(rounds.begin(), rounds.end(), [](const auto& round) {
    const ClockSource source = round.second.source;
    return source == ClockSource::kProbes || source == ClockSource::kClamped;
  });
}

std::map<int32_t, TraceClock> PlaceTraceClocks(const std::vector<WorkerRecord>& workers,
                                               const std::vector<RoundRecord>& rounds,
                                               const Account& account,
                                               const std::vector<ClockRecord>& records) {
  const RunClocks run_clocks(records);
  std::map<int32_t, TraceClock> clocks;
  for (const RoundRecord& round : rounds) {
    const std::vector<ClockEstimate> estimates = run_clocks.For(round);
    const RoundRecords of_round{.round = round,
                                .spans = OfRound(account.spans, round.round),
                                .stamps = OfRound(account.stamps, round.round),
                                .events = {},
                                .clocks = estimates};
    FirstTimes first_times;
    NoteAll(first_times, of_round.spans, of_round.stamps);
    for (const auto& [worker, clock] : PlaceClocks(of_round, PhaseTimes(of_round))) {
      const auto first = first_times.find(worker);
      if (clock.source == ClockSource::kNone || first == first_times.end()) continue;
      clocks[worker].rounds[round.round] = clock;
      clocks[worker].shifts[first->second] = clock.shift_ns;
    }
  }
  for (const auto& [worker, first_ns] : FirstTimesOf(account)) {
    TraceClock& clock = clocks[worker];
    if (clock.rounds.empty())
      clock.rounds[kBeforeRounds] = PlaceByJoining(worker, first_ns, workers, run_clocks);
    clock.shifts.try_emplace(first_ns, clock.rounds.begin()->second.shift_ns);
  }
  return clocks;
}

}  // namespace interlude
