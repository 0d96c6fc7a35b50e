// Records as no clean round leaves them: lost, doubled, nonsense, of an older version. The sum
// stays exact; and clocks come out right where they can.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "analysis/round_path.h"
#include "analysis/round_simulation.h"
#include "analysis/round_simulation_plans.h"

namespace interlude {
namespace {

bool OneIn(Random& random, int64_t n) { return Draw(random, 1, n) == 1; }

int64_t Nonsense(Random& random) {
  switch (Draw(random, 0, 3)) {
    case 0:
      return std::numeric_limits<int64_t>::max();
    case 1:
      return std::numeric_limits<int64_t>::min();
    case 2:
      return Draw(random, -(int64_t{1} << 60), int64_t{1} << 60);
    default:
      return Draw(random, 0, 10'000 * kMilli);
  }
}

template <typename Record>
void Lose(std::vector<Record>& records, int64_t one_in, Random& random) {
  std::erase_if(records, [&](const Record&) { return OneIn(random, one_in); });
}

template <typename Times>
void Spoil(Times& times, int64_t one_in, Random& random) {
  for (auto& time : times) {
    if (OneIn(random, one_in)) time.begin_ns = Nonsense(random);
    if (OneIn(random, one_in)) time.end_ns = Nonsense(random);
  }
}

/// Chunks that went through twice.
void Repeat(std::vector<ChunkStamp>& stamps, Random& random) {
  const size_t count = stamps.size();
  for (size_t i = 0; i < count; ++i) {
    if (!OneIn(random, 5)) continue;
    ChunkStamp again = stamps[i];
    again.begin_ns += Draw(random, 0, 50) * kMilli;
    again.end_ns = again.begin_ns + Draw(random, 0, 50) * kMilli;
    stamps.push_back(again);
  }
}

struct Faults {
  bool stamps = false, lists = false, spans = false, repeats = false, nonsense = false,
       clocks = false, events = false, workers = false;
};

Faults RandomFaults(Random& random) {
  const auto some = [&] { return OneIn(random, 3); };
  return {some(), some(), some(), some(), some(), some(), some(), some()};
}

std::vector<EventRecord> RandomEvents(const SimulatedRound& round, Random& random) {
  std::vector<EventRecord> events;
  for (int i = 0; i < 4; ++i) {
    events.push_back(
        {.at_ns = Draw(random, round.round.begin_ns - kMilli, round.round.end_ns + kMilli),
         .worker = static_cast<int32_t>(Draw(random, -1, 7)),
         .kind = OneIn(random, 2) ? "late" : "worker_left"});
  }
  return events;
}

void Break(const Faults& faults, SimulatedRound& round, Random& random) {
  if (faults.lists) Lose(round.stamps, 4, random);
  if (faults.spans) Lose(round.spans, 3, random);
  if (faults.workers) {
    std::erase_if(round.spans, [](const Span& span) { return span.recorded_by == 1; });
    std::erase_if(round.stamps, [](const ChunkStamps& of) { return of.recorded_by == 1; });
  }
  for (ChunkStamps& stamps : round.stamps) {
    if (faults.stamps) Lose(stamps.stamps, 3, random);
    if (faults.repeats) Repeat(stamps.stamps, random);
    if (faults.nonsense) Spoil(stamps.stamps, 20, random);
  }
  if (faults.nonsense) Spoil(round.spans, 10, random);
  if (faults.clocks) {
    Lose(round.clocks, 2, random);
    for (ClockEstimate& clock : round.clocks) {
      if (OneIn(random, 2)) clock.offset_ns = Nonsense(random);
      if (OneIn(random, 4)) clock.at_ns = Nonsense(random);
      if (OneIn(random, 4)) clock.error_ns = Nonsense(random);
      if (OneIn(random, 4)) clock.drift = std::numeric_limits<double>::quiet_NaN();
      if (OneIn(random, 4)) clock.drift = 1e300;
    }
  }
}

/// Samples of a worker, some of them nonsense.
ThrottlingByWorker RandomThrottling(const SimulationPlan& plan, Random& random) {
  std::vector<WorkerRecord> workers(plan.workers.size());
  std::vector<ProcessSample> samples(20);
  for (ProcessSample& sample : samples) {
    sample.recorded_by = static_cast<int32_t>(Draw(random, 0, 3));
    for (int64_t ProcessSample::*figure :
         {&ProcessSample::at_ns, &ProcessSample::interval_ns, &ProcessSample::throttled_ns,
          &ProcessSample::run_delay_ns, &ProcessSample::cpu_ns})
      sample.*figure = OneIn(random, 8) ? Nonsense(random) : Draw(random, -1, 2'000'000'000);
  }
  for (size_t worker = 0; worker < workers.size(); ++worker)
    workers[worker].worker = static_cast<int32_t>(worker);
  return FindThrottling(workers, samples);
}

TEST(RoundPathOfBrokenRecords, TheSumIsExactWhateverIsLostDoubledOrNonsense) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    SimulationPlan plan = RandomPlan(seed, random);
    plan.chunks = static_cast<uint32_t>(Draw(random, 1, 8));
    SimulatedRound round = SimulateRound(plan, 1, FirstState(plan));
    Break(RandomFaults(random), round, random);
    const std::vector<EventRecord> events = RandomEvents(round, random);
    RoundRecords records = round.Records(plan.barrier != OneIn(random, 10));
    if (OneIn(random, 2)) records.events = events;
    const ThrottlingByWorker throttling = RandomThrottling(plan, random);
    records.throttling = &throttling;
    const RoundPath path = FindRoundPath(records);
    EXPECT_EQ(SumOf(path), round.round.end_ns - round.round.begin_ns);
    for (const PathPiece& piece : path.pieces) EXPECT_GE(piece.error_ns, 0);
    for (const WorkerPath& worker : path.workers) {
      EXPECT_GE(worker.slack_ns, 0);
      EXPECT_GE(worker.drag_ns, 0);
    }
  }
}

TEST(RoundPathOfBrokenRecords, ARoundWithNonsenseTimesHasAPathThatSumsToItsLength) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const SimulationPlan plan = RandomPlan(seed, random);
    SimulatedRound round = SimulateRound(plan, 1, FirstState(plan));
    round.round.begin_ns = Nonsense(random);
    round.round.end_ns = Nonsense(random);
    const RoundPath path = FindRoundPath(round.Records(plan.barrier));
    EXPECT_EQ(SumOf(path), path.end_ns - path.begin_ns);
  }
}

/// What schema version 2 holds: no stamps, no start, no reports, no probes.
void MakeOld(SimulatedRound& round) {
  round.stamps.clear();
  round.clocks.clear();
  round.threads.clear();
  std::erase_if(round.spans, [](const Span& span) {
    return span.phase == Phase::kStart || span.phase == Phase::kReport ||
           span.phase == Phase::kAwaitRound;
  });
}

TEST(RoundPathOfBrokenRecords, WithoutStampsAndProbesMostIsExplainedAndTheCulpritFound) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    SimulationPlan plan = RandomPlan(seed, random);
    const auto culprit = static_cast<size_t>(seed % plan.workers.size());
    plan.workers[culprit].train = 3;
    SimulatedRound round = SimulateRound(plan, 1, FirstState(plan));
    MakeOld(round);
    const RoundPath path = FindRoundPath(round.Records(plan.barrier));
    EXPECT_EQ(SumOf(path), round.round.end_ns - round.round.begin_ns);
    // The report's way and the start message's are not on record.
    EXPECT_LE(path.unexplained_ns,
              (path.end_ns - path.begin_ns) / 50 + 4 * plan.workers[culprit].latency_ns);
    const auto most = std::max_element(
        path.workers.begin(), path.workers.end(),
        [](const WorkerPath& a, const WorkerPath& b) { return a.drag_ns < b.drag_ns; });
    EXPECT_EQ(most->worker, static_cast<int32_t>(culprit));
    EXPECT_GT(path.notes.size(), plan.workers.size()) << "one a worker, and one on the stamps";
  }
}

TEST(RoundPathOfBrokenRecords, AClockIsPlacedToWithinItsErrorWithAndWithoutProbes) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const SimulationPlan plan = RandomPlan(seed, random);
    SimulatedRound round = SimulateRound(plan, 1, FirstState(plan));
    const int64_t half_ns = (round.round.end_ns - round.round.begin_ns) / 2;
    if (seed % 2 == 1) round.clocks.clear();
    for (const WorkerPath& worker : FindRoundPath(round.Records(plan.barrier)).workers) {
      const auto w = static_cast<size_t>(worker.worker);
      // Rigid over the round: at its ends off by what the clock drifts in half of it. And stamps
      // are in whole microseconds.
      const auto drift_ns =
          static_cast<int64_t>(std::abs(plan.workers[w].drift) * static_cast<double>(half_ns));
      EXPECT_LE(std::abs(worker.clock.shift_ns - round.true_shift_ns[w]),
                worker.clock.error_ns + drift_ns + 2 * kMicro);
      EXPECT_EQ(worker.clock.source == ClockSource::kCausality, seed % 2 == 1);
    }
  }
}

}  // namespace
}  // namespace interlude
