#include "report/run_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "analysis/analyze_run.h"
#include "base/rng.h"
#include "ledger/sample_run.h"
#include "report/trace_counters.h"
#include "report/trace_lanes.h"
#include "report/trace_test_run.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Keeps what it is told.
class ToldTrace : public TraceSink {
 public:
  void AddProcess(const TraceProcess& process) override { processes.push_back(process); }
  void AddTrack(const TraceTrack& track) override { tracks[track.track] = track; }
  void AddSlice(const TraceSlice& slice) override { slices.push_back(slice); }
  void AddInstant(const TraceSlice& instant) override { instants.push_back(instant); }
  void AddValue(const TraceValue& value) override { values.push_back(value); }
  void Finish() override { finished = true; }

  std::vector<TraceSlice> SlicesOn(int32_t process, const std::string& track_name) const {
    std::vector<TraceSlice> found;
    for (const TraceSlice& slice : slices) {
      const TraceTrack& track = tracks.at(slice.track);
      if (track.process == process && track.name == track_name) found.push_back(slice);
    }
    return found;
  }

  std::vector<TraceProcess> processes;
  std::map<uint64_t, TraceTrack> tracks;
  std::vector<TraceSlice> slices;
  std::vector<TraceSlice> instants;
  std::vector<TraceValue> values;
  bool finished = false;
};

TraceRun TestRun() {
  auto run = ReadTraceRun(*MakeTraceTestRun());
  EXPECT_TRUE(run.ok()) << run.status().ToString();
  return *std::move(run);
}

ToldTrace Told(const TraceRun& run, TraceClocks clocks = TraceClocks::kCorrected) {
  ToldTrace told;
  WriteTrace(run, clocks, told);
  EXPECT_TRUE(told.finished);
  return told;
}

TEST(TraceLanes, HoldNoTwoIntervalsAtOnceAndAreAsFewAsCanBe) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    std::vector<std::pair<int64_t, int64_t>> intervals;
    for (int i = 0; i < 40; ++i) {
      const auto begin = static_cast<int64_t>(rng.Below(60));
      intervals.push_back({begin, begin + static_cast<int64_t>(rng.Below(12))});
    }
    std::sort(intervals.begin(), intervals.end());
    TraceLanes lanes;
    std::map<size_t, int64_t> ends;
    for (const auto& [begin, end] : intervals) {
      const size_t lane = lanes.Place(begin, end);
      EXPECT_TRUE(!ends.contains(lane) || ends[lane] <= begin) << "seed " << seed;
      ends[lane] = end;
    }
    ptrdiff_t most = 1;
    for (const auto& [begin, end] : intervals) {
      most = std::max(most, std::count_if(intervals.begin(), intervals.end(), [at = begin](auto i) {
                        return i.first <= at && at < i.second;
                      }));
    }
    // An interval without length needs a lane of its own while others cover its moment.
    EXPECT_LE(ends.size(), static_cast<size_t>(most) + 1) << "seed " << seed;
  }
}

TEST(RunTrace, ShowsEverySpanAndEveryChunkOnce) {
  const TraceRun run = TestRun();
  const ToldTrace told = Told(run);
  size_t spans = 0, moments = 0, chunks = 0;
  for (const Span& span : run.account.spans) {
    if (span.phase == Phase::kRound) continue;
    ++(span.begin_ns == span.end_ns ? moments : spans);
  }
  for (const ChunkStamps& stamps : run.account.stamps) chunks += stamps.stamps.size();
  EXPECT_EQ(told.slices.size(), spans + chunks + kTraceRounds);
  EXPECT_EQ(told.instants.size(), moments + 4 * kTraceRounds + run.events.size());
}

TEST(RunTrace, HasNoTwoSlicesAtOnceOnATrackAndAllInOrder) {
  const ToldTrace told = Told(TestRun());
  std::map<uint64_t, int64_t> last;
  for (const TraceSlice& slice : told.slices) {
    const int64_t begin_ns = OnOneClock(slice.begin_ns, slice.shift_ns);
    EXPECT_TRUE(!last.contains(slice.track) || last[slice.track] <= begin_ns);
    EXPECT_LE(slice.begin_ns, slice.end_ns);
    last[slice.track] = OnOneClock(slice.end_ns, slice.shift_ns);
  }
  last.clear();
  for (const TraceSlice& instant : told.instants) {
    EXPECT_TRUE(!last.contains(instant.track) || last[instant.track] <= instant.begin_ns);
    last[instant.track] = instant.begin_ns;
  }
}

TEST(RunTrace, PutsChunksThatAreEncodedAtTheSameTimeOnLanesOfOneName) {
  const ToldTrace told = Told(TestRun());
  std::set<uint64_t> lanes;
  for (const TraceSlice& slice : told.SlicesOn(0, "encode by chunk")) lanes.insert(slice.track);
  ASSERT_THAT(lanes, SizeIs(2));
  const TraceTrack& one = told.tracks.at(*lanes.begin());
  const TraceTrack& other = told.tracks.at(*lanes.rbegin());
  EXPECT_EQ(one.parent, other.parent);
  EXPECT_EQ(one.rank, other.rank);
  EXPECT_EQ(told.tracks.at(one.parent).name, "encode");
}

TEST(RunTrace, KeepsWhatTheCoordinatorDoesForEachWorkerApart) {
  const ToldTrace told = Told(TestRun());
  std::set<std::string> groups;
  for (const TraceSlice& slice : told.SlicesOn(kNoWorker, "receive")) {
    groups.insert(told.tracks.at(told.tracks.at(slice.track).parent).name);
  }
  EXPECT_THAT(groups, ElementsAre("worker 0", "worker 1"));
}

TEST(RunTrace, JoinsAChunksWayFromEncodingToApplyingByOneFlowForEachWorker) {
  const ToldTrace told = Told(TestRun());
  std::map<uint64_t, std::vector<std::string>> ways;
  for (const TraceSlice& slice : told.slices) {
    for (const uint64_t flow : slice.flows) {
      ways[flow].push_back(told.tracks.at(slice.track).name + " " + slice.name);
    }
  }
  EXPECT_EQ(ways.size(), size_t{2} * kTraceRounds * kTraceChunks);
  for (auto& [flow, way] : ways) {
    const std::string chunk = way.front().substr(way.front().find(" chunk ") + 7);
    std::sort(way.begin(), way.end());
    std::vector<std::string> expected;
    for (const char* phase : {"apply", "download", "encode", "merge", "receive", "send", "upload"})
      expected.push_back(std::string(phase) + " by chunk " + chunk);
    EXPECT_EQ(way, expected);
  }
}

TEST(RunTrace, HasOneShiftARoundAndSaysHowWellTheClockIsKnown) {
  const ToldTrace told = Told(TestRun());
  ASSERT_THAT(told.processes, SizeIs(3));
  EXPECT_EQ(told.processes[0].name, "coordinator");
  EXPECT_THAT(told.processes[0].shifts, IsEmpty());
  EXPECT_EQ(told.processes[1].name, "worker 0 (gpu-a, pid 4100), clock within 0.070 ms");
  EXPECT_THAT(told.processes[1].shifts, SizeIs(kTraceRounds));
  for (const TraceSlice& train : told.SlicesOn(0, "train")) {
    const int64_t round = std::get<int64_t>(train.arguments.at(0).value);
    const RoundRecord record{.begin_ns = kTraceBegin + (round - 1) * kTraceRoundNs,
                             .end_ns = kTraceBegin + round * kTraceRoundNs};
    EXPECT_EQ(train.shift_ns, ShiftAt(TraceTestClock(), record));
  }
}

TEST(RunTrace, PlacesAWorkerThatNobodyProbedByItsMessagesAndSaysSo) {
  const TraceRun run = TestRun();
  const ToldTrace told = Told(run);
  // A chunk is downloaded 50 ms after it was sent, and the report of round 2 comes 5 ms after the
  // end of `verify`, both if the clocks differed by the beginnings of the first round alone.
  EXPECT_THAT(told.processes[2].name, HasSubstr("not probed, by its messages within 29.500 ms"));
  const int64_t apart = kTraceBegin - 777'000 * kTraceMs;
  EXPECT_EQ(told.SlicesOn(1, "verify").at(1).shift_ns, apart + (5 - 50) * kTraceMs / 2);
  EXPECT_THAT(TraceNotes(run, TraceClocks::kCorrected), ElementsAre(HasSubstr("of worker 1: ")));
  EXPECT_THAT(TraceNotes(run, TraceClocks::kRaw), IsEmpty());
}

TEST(RunTrace, PlacesAWorkerThatFinishedNoRoundWhereItJoined) {
  TraceRun run = TestRun();
  run.rounds.clear();
  const auto place = [&](const std::vector<ClockRecord>& records) {
    return PlaceTraceClocks(run.workers, run.rounds, run.account, records);
  };
  const auto unknown = place({}).at(0);
  EXPECT_EQ(OnOneClock(50'000 * kTraceMs, unknown.ShiftIn(1)), run.workers[0].joined_ns);
  EXPECT_FALSE(unknown.probed());
  run.clocks = {{0, unknown}, {1, unknown}};
  EXPECT_THAT(Told(run).processes.at(1).name, HasSubstr("clock unknown: placed where it joined"));
  const auto probed = place({{std::nullopt, TraceTestClock()}}).at(0);
  EXPECT_TRUE(probed.probed());
  EXPECT_NEAR(static_cast<double>(OnOneClock(50'000 * kTraceMs, probed.ShiftIn(1))),
              static_cast<double>(kTraceBegin), 0.001 * kTraceMs * 100);
}

TEST(RunTrace, AgreesWithTheReportAboutEveryTimeOfTheSampleRun) {
  const auto database = *RunDatabase::Create(":memory:");
  ASSERT_TRUE(WriteSampleRun(*database).ok());
  const RunSummary report = *AnalyzeRun(*database);
  const ToldTrace told = Told(*ReadTraceRun(*database));
  std::map<std::pair<int64_t, int32_t>, int64_t> shifts;  // by round and worker
  size_t trained = 0;
  for (const RoundPath& path : report.paths) {
    for (const WorkerPath& worker : path.workers)
      shifts[{path.round, worker.worker}] = worker.clock.shift_ns;
    for (const PathPiece& piece : path.pieces) {
      if (piece.what != ActivityKind::kTrain) continue;
      // The walk is cut at the round's begin, not at its end.
      const TraceSlice train = told.SlicesOn(piece.worker, "train").at(path.round - 1);
      EXPECT_EQ(OnOneClock(train.end_ns, train.shift_ns), piece.end_ns) << path.round;
      ++trained;
    }
  }
  EXPECT_EQ(trained, kSampleRounds);
  size_t seen = 0;
  for (const TraceSlice& slice : told.slices) {
    const int32_t process = told.tracks.at(slice.track).process;
    const int64_t round = std::get<int64_t>(slice.arguments.at(0).value);
    const auto shift = shifts.find({round, process});
    if (shift == shifts.end()) continue;  // the coordinator's, or of no finished round
    EXPECT_EQ(slice.shift_ns, shift->second) << slice.name << " of round " << round;
    ++seen;
  }
  EXPECT_GT(seen, 100u);
}

TEST(RunTrace, LeavesRawTimesAlone) {
  const ToldTrace told = Told(TestRun(), TraceClocks::kRaw);
  for (const TraceProcess& process : told.processes) EXPECT_THAT(process.shifts, IsEmpty());
  for (const TraceSlice& slice : told.slices) EXPECT_EQ(slice.shift_ns, 0);
  EXPECT_THAT(told.processes[2].name, HasSubstr("its own clock"));
}

TEST(RunTrace, OfSomeRoundsHoldsTheirTimesAlone) {
  TraceRun run = TestRun();
  const auto clocks = run.clocks;
  ASSERT_TRUE(KeepRounds(run, 2, 2).ok());
  EXPECT_EQ(run.clocks, clocks);
  const ToldTrace told = Told(run);
  EXPECT_THAT(told.SlicesOn(kNoWorker, "rounds"), SizeIs(1));
  for (const TraceSlice& slice : told.slices) {
    EXPECT_EQ(std::get<int64_t>(slice.arguments.at(0).value), 2);
  }
  for (const TraceValue& value : told.values) {
    const TraceTrack& track = told.tracks.at(value.track);
    if (track.process != 0) continue;
    EXPECT_GE(value.at_ns, 50'000 * kTraceMs + 2'000 * kTraceMs);
  }
  EXPECT_THAT(run.account.samples, SizeIs(testing::Lt(3u * 2 * kTraceRounds)));
  EXPECT_THAT(run.events, IsEmpty());
}

TEST(RunTrace, OfRoundsThatAreNotThereSaysWhichThereAre) {
  TraceRun run = TestRun();
  const Status status = KeepRounds(run, 7, 9);
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
  EXPECT_THAT(status.message(), HasSubstr("no rounds 7 to 9; its last finished round is 3"));
}

TEST(RunTrace, OfAnEmptyRunIsACoordinatorWithNothing) {
  const auto database = *RunDatabase::Create(":memory:");
  const ToldTrace told = Told(*ReadTraceRun(*database));
  EXPECT_THAT(told.processes, SizeIs(1));
  EXPECT_THAT(told.slices, IsEmpty());
}

TEST(TraceCounters, AreRatesFromTheBeginningOfTheirTimeOrLevelsWhenTheyWereTaken) {
  ProcessSample sample;
  sample.at_ns = 5'000;
  sample.interval_ns = 2'000;
  sample.cpu_ns = 3'000;
  sample.net_sent_bytes = 10;
  sample.rss_bytes = 77;
  std::map<std::string, std::tuple<std::string, int64_t, double>> drawn;
  for (const SampleField& field : kSampleFields) {
    if (field.value == &ProcessSample::interval_ns) continue;
    const auto value = ValueOf(field, sample);
    if (value) {
      drawn[CounterOf(field).name] = {CounterOf(field).unit, value->at_ns, value->value};
    }
  }
  EXPECT_THAT(drawn, SizeIs(3));
  EXPECT_EQ(drawn["cpu"], std::tuple("s/s", 3'000, 1.5));
  EXPECT_EQ(drawn["net_sent"], std::tuple("bytes/s", 3'000, 5e6));
  EXPECT_EQ(drawn["rss"], std::tuple("bytes", 5'000, 77.0));
}

}  // namespace
}  // namespace interlude
