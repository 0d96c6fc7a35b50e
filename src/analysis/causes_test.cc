#include "analysis/causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "analysis/cause_world.h"

namespace interlude {
namespace {

using S = ProcessSample;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kMs = 1e6;
constexpr int32_t kVictim = 1;
constexpr uint32_t kRound = 3;

/// What was done to the victim in the round, on figures that a kernel would show.
struct Case {
  const char* name;
  std::function<void(CauseWorld&)> inject;
  CauseKind kind;
  Grade grade;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

void Add(CauseWorld& world, Phase phase, int64_t S::*figure, double amount) {
  world.AddFigure(kVictim, kRound, phase, figure, amount);
}

void Quota(CauseWorld& world, double throttled_ms) {
  world.record(kVictim).quota_cores = 0.25;
  world.Set(kVictim, kRound, Phase::kEncode, {98, 1600, 0});
  world.record(kVictim).threads = 1;
  for (int32_t worker = 0; worker < 3; ++worker) world.record(worker).threads = 1;
  Add(world, Phase::kEncode, &S::throttled_ns, throttled_ms * kMs);
}

void OneCore(CauseWorld& world, int threads) {
  for (int32_t worker = 0; worker < 3; ++worker) {
    world.record(worker).threads = 1;
    world.record(worker).usable_cores = 1;
  }
  world.record(kVictim).threads = threads;
}

/// Two equal shares of one core that the victim wants for itself.
void Neighbours(CauseWorld& world, double others_ms) {
  OneCore(world, 1);
  world.Set(kVictim, kRound, Phase::kEncode, {98, 1000, 0});
  Add(world, Phase::kEncode, &S::machine_busy_ns, others_ms * kMs);
}

void Disk(CauseWorld& world, double waited_ms, double bytes) {
  world.Set(kVictim, kRound, Phase::kTrain, {400, 1, 1599});
  Add(world, Phase::kTrain, &S::io_some_ns, waited_ms * kMs);
  Add(world, Phase::kTrain, &S::disk_read_bytes, bytes);
}

void Memory(CauseWorld& world, double stalled_ms) {
  world.Set(kVictim, kRound, Phase::kTrain, {400, 1, 1599});
  Add(world, Phase::kTrain, &S::io_some_ns, 1000 * kMs);
  Add(world, Phase::kTrain, &S::memory_some_ns, stalled_ms * kMs);
  Add(world, Phase::kTrain, &S::major_faults, 9000);
  Add(world, Phase::kTrain, &S::disk_read_bytes, 36e6);
}

/// It sleeps for its transport's threads, which wait for a CPU, all together, for `others_ms`.
void ThrottledDownload(CauseWorld& world, double throttled_ms, double others_ms) {
  OneCore(world, 1);
  world.record(kVictim).quota_cores = 0.03;
  world.Set(kVictim, kRound, Phase::kDownload, {100, 2000, 8000});
  Add(world, Phase::kDownload, &S::throttled_ns, throttled_ms * kMs);
  Add(world, Phase::kDownload, &S::run_delay_ns, (2000 + others_ms) * kMs);
}

void SlowUpload(CauseWorld& world, double tcp_busy_ms, double round_trip_ms) {
  world.Set(kVictim, kRound, Phase::kUpload, {5, 1, 1094});
  Add(world, Phase::kUpload, &S::tcp_busy_ns, tcp_busy_ms * kMs);
  Add(world, Phase::kUpload, &S::tcp_sent_bytes, 1.02e6);
  Add(world, Phase::kUpload, &S::tcp_round_trip_ns, round_trip_ms * kMs);
}

const Case kCases[] = {
    {"a quota, throttled", [](CauseWorld& w) { Quota(w, 1580); }, CauseKind::kQuota,
     Grade::kObserved},
    {"a quota that also leaves one thread in place of eight",
     [](CauseWorld& w) {
       w.SetAll(Phase::kEncode, {25, 0, 0});
       for (const int32_t worker : {0, 2}) w.SetParallel(worker, 8);
       w.record(kVictim).quota_cores = 0.25;
       w.record(kVictim).usable_cores = w.record(kVictim).threads = 1;
       w.Set(kVictim, kRound, Phase::kEncode, {200, 600, 0});
       Add(w, Phase::kEncode, &S::throttled_ns, 600 * kMs);
     },
     CauseKind::kQuota, Grade::kObserved},
    {"a quota, and no figure of throttling",
     [](CauseWorld& w) {
       Quota(w, 0);
       w.Set(kVictim, kRound, Phase::kEncode, {400, 1200, 0});
       w.Forget(&S::throttled_ns);
     },
     CauseKind::kQuota, Grade::kHypothesis},
    {"a download whose transport a quota holds up",
     [](CauseWorld& w) { ThrottledDownload(w, 10000, 12000); }, CauseKind::kQuota,
     Grade::kObserved},
    {"a download asleep beside others of its group that the quota holds up",
     [](CauseWorld& w) { ThrottledDownload(w, 10000, 0); }, CauseKind::kBandwidth,
     Grade::kHypothesis},
    {"a download asleep for longer than the quota held it up",
     [](CauseWorld& w) { ThrottledDownload(w, 4000, 12000); }, CauseKind::kBandwidth,
     Grade::kHypothesis},
    {"half of the waiting is throttling, half is neighbours",
     [](CauseWorld& w) {
       OneCore(w, 1);
       w.record(kVictim).quota_cores = 0.5;
       w.Set(kVictim, kRound, Phase::kEncode, {98, 1600, 0});
       Add(w, Phase::kEncode, &S::throttled_ns, 780 * kMs);
       Add(w, Phase::kEncode, &S::machine_busy_ns, 900 * kMs);
     },
     CauseKind::kNeighbours, Grade::kHypothesis},
    {"neighbours on its core", [](CauseWorld& w) { Neighbours(w, 1000); }, CauseKind::kNeighbours,
     Grade::kObserved},
    {"waiting for a CPU while nobody else was seen on one",
     [](CauseWorld& w) { Neighbours(w, 30); }, CauseKind::kNeighbours, Grade::kHypothesis},
    {"neighbours, and no figure of the machine",
     [](CauseWorld& w) {
       Neighbours(w, 1000);
       w.Forget(&S::machine_busy_ns);
     },
     CauseKind::kNeighbours, Grade::kHypothesis},
    {"a hypervisor that takes half",
     [](CauseWorld& w) {
       w.Set(kVictim, kRound, Phase::kTrain, {3000, 1, 3000});
       w.SetAll(Phase::kTrain, {3000, 1, 10});
       Add(w, Phase::kTrain, &S::steal_ns, 3000 * kMs);
     },
     CauseKind::kNeighbours, Grade::kObserved},
    {"own threads that spin for each other",
     [](CauseWorld& w) {
       OneCore(w, 16);
       w.Set(kVictim, kRound, Phase::kEncode, {80, 1200, 0});
       w.SetParallel(kVictim, 16);
     },
     CauseKind::kOwnThreads, Grade::kObserved},
    {"as many threads as all others, on slower cores",
     [](CauseWorld& w) {
       OneCore(w, 16);
       for (int32_t worker = 0; worker < 3; ++worker) {
         w.record(worker).threads = 16;
         w.SetParallel(worker, 16);
       }
       w.SetAll(Phase::kEncode, {10, 150, 0});
       w.Set(kVictim, kRound, Phase::kEncode, {40, 600, 0});
     },
     CauseKind::kOtherWork, Grade::kObserved},
    {"a disk", [](CauseWorld& w) { Disk(w, 950, 500e6); }, CauseKind::kDisk, Grade::kObserved},
    {"a disk, and no pressure figures",
     [](CauseWorld& w) {
       Disk(w, 950, 500e6);
       w.Forget(&S::io_some_ns);
     },
     CauseKind::kDisk, Grade::kHypothesis},
    {"somebody else's disk", [](CauseWorld& w) { Disk(w, 950, 0); }, CauseKind::kOtherWork,
     Grade::kHypothesis},
    {"a disk for half of it", [](CauseWorld& w) { Disk(w, 600, 500e6); }, CauseKind::kDisk,
     Grade::kHypothesis},
    {"memory taken away", [](CauseWorld& w) { Memory(w, 950); }, CauseKind::kMemory,
     Grade::kObserved},
    {"memory taken away, and the kernel's work on it",
     [](CauseWorld& w) {
       Memory(w, 950);
       w.Set(kVictim, kRound, Phase::kTrain, {1900, 1, 1599});
     },
     CauseKind::kMemory, Grade::kHypothesis},
    {"pages read for the first time", [](CauseWorld& w) { Memory(w, 0); }, CauseKind::kDisk,
     Grade::kObserved},
    {"pages read, and no pressure of memory",
     [](CauseWorld& w) {
       Memory(w, 0);
       w.Forget(&S::memory_some_ns);
       w.Forget(&S::io_some_ns);
     },
     CauseKind::kDisk, Grade::kHypothesis},
    {"a narrow link", [](CauseWorld& w) { SlowUpload(w, 1090, 150); }, CauseKind::kBandwidth,
     Grade::kObserved},
    {"a narrow link that drops what its queue cannot hold",
     [](CauseWorld& w) {
       SlowUpload(w, 1090, 150);
       Add(w, Phase::kUpload, &S::tcp_retransmitted_bytes, 2e4);
     },
     CauseKind::kBandwidth, Grade::kObserved},
    {"a narrow link that drops much of it",
     [](CauseWorld& w) {
       SlowUpload(w, 1090, 30);
       Add(w, Phase::kUpload, &S::tcp_retransmitted_bytes, 1e5);
     },
     CauseKind::kBandwidth, Grade::kObserved},
    {"a receiver that does not take it",
     [](CauseWorld& w) {
       SlowUpload(w, 1090, 0);
       Add(w, Phase::kUpload, &S::tcp_receiver_limited_ns, 1000 * kMs);
     },
     CauseKind::kBandwidth, Grade::kObserved},
    {"a slow upload, and no figures of TCP",
     [](CauseWorld& w) {
       SlowUpload(w, 1090, 0);
       w.Forget(&S::tcp_busy_ns);
     },
     CauseKind::kBandwidth, Grade::kHypothesis},
    {"a coordinator that answers late", [](CauseWorld& w) { SlowUpload(w, 60, 0); },
     CauseKind::kUnknown, Grade::kHypothesis},
    {"losses",
     [](CauseWorld& w) {
       SlowUpload(w, 1090, 0);
       Add(w, Phase::kUpload, &S::tcp_retransmitted_bytes, 2e4);
     },
     CauseKind::kLatencyOrLoss, Grade::kObserved},
    {"many losses, whose answers came late",
     [](CauseWorld& w) {
       SlowUpload(w, 1090, 47);
       w.SetRoundTrip(kVictim, 20);
       Add(w, Phase::kUpload, &S::tcp_retransmitted_bytes, 2e5);
     },
     CauseKind::kLatencyOrLoss, Grade::kObserved},
    {"a long way",
     [](CauseWorld& w) {
       SlowUpload(w, 600, 100);
       w.SetRoundTrip(kVictim, 100);
     },
     CauseKind::kLatencyOrLoss, Grade::kObserved},
    {"a long way back",
     [](CauseWorld& w) {
       w.Set(kVictim, kRound, Phase::kDownload, {5, 0, 955});
       w.SetRoundTrip(kVictim, 100);
     },
     CauseKind::kLatencyOrLoss, Grade::kObserved},
    {"more CPU time for the same steps",
     [](CauseWorld& w) {
       w.Set(kVictim, kRound, Phase::kTrain, {1400, 2, 599});
     },
     CauseKind::kOtherWork, Grade::kObserved},
    {"more samples",
     [](CauseWorld& w) {
       w.Set(kVictim, kRound, Phase::kTrain, {800, 1, 1199});
       w.part(kVictim, kRound).samples = 2560;
     },
     CauseKind::kOtherWork, Grade::kObserved},
    {"pictures that come late",
     [](CauseWorld& w) {
       w.Set(kVictim, kRound, Phase::kTrain, {400, 1, 1599});
       w.SetLoading(kVictim, kRound, 1010, 300);
       w.SetLoading(0, kRound, 10, 300);
       w.SetLoading(2, kRound, 10, 300);
     },
     CauseKind::kPictures, Grade::kObserved},
    {"pictures that its own thread prepares",
     [](CauseWorld& w) {
       w.Set(kVictim, kRound, Phase::kTrain, {1400, 1, 599});
       w.SetLoading(kVictim, kRound, 950, 950);
     },
     CauseKind::kPictures, Grade::kObserved},
    {"a slow device",
     [](CauseWorld& w) {
       w.Set(kVictim, kRound, Phase::kTrain, {400, 1, 1599});
     },
     CauseKind::kOtherWork, Grade::kHypothesis},
    {"asleep while encoding",
     [](CauseWorld& w) {
       w.Set(kVictim, kRound, Phase::kEncode, {98, 2, 900});
     },
     CauseKind::kUnknown, Grade::kHypothesis},
    {"a disk and a link, half each",
     [](CauseWorld& w) {
       Disk(w, 1000, 500e6);
       SlowUpload(w, 700, 150);
     },
     CauseKind::kDisk, Grade::kHypothesis},
};

class CausesTest : public ::testing::TestWithParam<Case> {};

std::string Told(const Cause& cause) {
  std::string text =
      fmt::format("{} ({}), {} of {} ns: {}", CauseName(cause.kind), GradeName(cause.grade),
                  cause.explained_ns, cause.excess_ns, cause.reason);
  for (const std::string& sentence : cause.evidence) text += "\n  " + sentence;
  for (const std::string& sentence : cause.missing) text += "\n  missing: " + sentence;
  return text;
}

TEST_P(CausesTest, IsFoundWithItsGrade) {
  CauseWorld world(3, 5);
  GetParam().inject(world);
  const std::vector<WorkerRoundCause> causes = FindCauses(world.Tables());
  ASSERT_THAT(causes, SizeIs(1));
  const Cause& cause = causes[0].cause;
  SCOPED_TRACE(Told(cause));
  EXPECT_EQ(causes[0].worker, kVictim);
  EXPECT_EQ(causes[0].round, kRound);
  EXPECT_EQ(CauseName(cause.kind), CauseName(GetParam().kind));
  EXPECT_EQ(GradeName(cause.grade), GradeName(GetParam().grade));
  EXPECT_EQ(cause.letter, CauseLetter(GetParam().kind));
  EXPECT_EQ(cause.missing.empty(), cause.grade == Grade::kObserved);
  EXPECT_GT(cause.reason.size(), 10u);
}

INSTANTIATE_TEST_SUITE_P(, CausesTest, ::testing::ValuesIn(kCases));

TEST(CausesSentencesTest, AQuotaIsToldWithItsFigures) {
  CauseWorld world(3, 5);
  Quota(world, 1580);
  const Cause cause = FindCauses(world.Tables()).at(0).cause;
  EXPECT_EQ(cause.reason,
            "its cgroup allows 0.25 of 8 visible CPUs and throttled it for 1.58 s of it");
  EXPECT_EQ(cause.evidence.at(0),
            "encode took 1.70 s, on worker 2, the median, 100 ms: on a CPU 98.0 ms against 98.0 "
            "ms, waiting for a CPU 1.60 s against 2.0 ms, asleep 0 ms against 0 ms.");
}

TEST(CausesSentencesTest, ThrottledTransportIsToldWithItsFigures) {
  CauseWorld world(3, 5);
  ThrottledDownload(world, 10000, 12000);
  const Cause cause = FindCauses(world.Tables()).at(0).cause;
  EXPECT_THAT(cause.evidence,
              testing::Contains(testing::AllOf(HasSubstr("Its quota held the process up for"),
                                               HasSubstr("the transport's threads waited"))));
}

TEST(CausesSentencesTest, WhatIsMissingIsNamed) {
  CauseWorld world(3, 5);
  Neighbours(world, 1000);
  world.ForgetSamples();
  const Cause cause = FindCauses(world.Tables()).at(0).cause;
  EXPECT_EQ(cause.grade, Grade::kHypothesis);
  EXPECT_THAT(cause.missing.at(0), HasSubstr("No sample"));
}

TEST(CausesComparisonTest, WaitingForOthersIsNeverACause) {
  CauseWorld world(3, 5);
  world.Set(kVictim, kRound, Phase::kWait, {0, 0, 5000});
  EXPECT_THAT(FindCauses(world.Tables()), IsEmpty());
}

TEST(CausesComparisonTest, ASmallExcessIsLeftAlone) {
  CauseWorld world(3, 5);
  world.Set(kVictim, kRound, Phase::kEncode, {98, 90, 0});
  EXPECT_THAT(FindCauses(world.Tables()), IsEmpty());
}

TEST(CausesComparisonTest, EveryWorkersExcessIsToldHoweverSmall) {
  CauseWorld world(3, 2);
  world.Set(kVictim, 2, Phase::kTrain, {1400, 2, 599});  // 1 s longer
  world.Set(kVictim, 2, Phase::kEncode, {298, 2, 0});    // 197 ms longer
  world.Set(kVictim, 2, Phase::kApply, {100, 2, 0});     // less than a tenth of that of train
  world.Set(0, 2, Phase::kEncode, {101, 2, 0});
  Excesses excesses;
  const std::vector<WorkerRoundCause> causes = FindCauses(world.Tables(), &excesses);
  ASSERT_THAT(causes, SizeIs(1));
  EXPECT_EQ(excesses.size(), 2u * 3u) << "each worker in each round";
  EXPECT_EQ((excesses.at({2, kVictim})), 1'198'000'000);
  EXPECT_EQ(causes[0].cause.excess_ns, 1'198'000'000);
  EXPECT_EQ((excesses.at({2, 0})), 0) << "with 101 ms it is the median itself";
  EXPECT_EQ((excesses.at({2, 2})), 0);
  EXPECT_EQ((excesses.at({1, kVictim})), 0);
}

TEST(CausesComparisonTest, OfTwoWorkersTheQuickerIsTheMedian) {
  CauseWorld world(2, 5);
  world.Set(kVictim, kRound, Phase::kTrain, {1400, 2, 599});
  const std::vector<WorkerRoundCause> causes = FindCauses(world.Tables());
  ASSERT_THAT(causes, SizeIs(1));
  EXPECT_EQ(causes[0].worker, kVictim);
  EXPECT_EQ(causes[0].cause.phases.at(0).median_worker, 0);
  EXPECT_EQ(causes[0].cause.excess_ns, 1'001'000'000);
}

TEST(CausesComparisonTest, AWorkerAloneIsComparedWithItsOwnMedianRound) {
  CauseWorld world(1, 6);
  world.Set(0, 5, Phase::kTrain, {1400, 2, 599});
  world.Set(0, 1, Phase::kTrain, {3400, 2, 599});  // the first round is no measure
  const std::vector<WorkerRoundCause> causes = FindCauses(world.Tables());
  ASSERT_THAT(causes, SizeIs(1));
  EXPECT_EQ(causes[0].round, 5u);
  EXPECT_THAT(causes[0].cause.evidence.at(0), HasSubstr("its own median round"));
}

TEST(CausesComparisonTest, OfARoundTrainedTwiceTheSecondTimeCounts) {
  CauseWorld world(3, 5);
  CauseTables tables = world.Tables();
  std::vector<Span> spans(tables.spans.begin(), tables.spans.end());
  Span first = *std::find_if(spans.begin(), spans.end(), [](const Span& span) {
    return span.recorded_by == kVictim && span.round == kRound && span.phase == Phase::kTrain;
  });
  first.end_ns = first.begin_ns - 1;
  first.begin_ns = first.end_ns - first.busy_ns;
  spans.push_back(first);
  tables.spans = spans;
  EXPECT_THAT(FindCauses(tables), IsEmpty());
}

TEST(CausesComparisonTest, CleanRoundsHaveNone) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    CauseWorld world(static_cast<int32_t>(1 + seed % 5), 10);
    world.AddNoise(seed, 0.02);
    EXPECT_THAT(FindCauses(world.Tables()), IsEmpty()) << "seed " << seed;
  }
}

TEST(DragsTest, WithoutAPathTheLargestExcessOverTheNextCounts) {
  std::vector<WorkerRoundCause> causes(3);
  causes[0] = {4, 0, {}};
  causes[0].cause.excess_ns = 700'000'000;
  causes[1] = {4, 2, {}};
  causes[1].cause.excess_ns = 900'000'000;
  causes[2] = {5, 1, {}};
  causes[2].cause.excess_ns = 300'000'000;
  const Drags drags = DragsFromExcess(causes);
  EXPECT_EQ(drags, (Drags{{{4, 2}, 200'000'000}, {{5, 1}, 300'000'000}}));
  const RoundRecord round{.round = 4, .begin_ns = 0, .end_ns = 1'000'000'000};
  EXPECT_TRUE(IsWorthwhile(200'000'000, round));
  EXPECT_FALSE(IsWorthwhile(99'000'000, round)) << "below a tenth of it";
}

}  // namespace
}  // namespace interlude
