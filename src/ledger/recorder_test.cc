#include "ledger/recorder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>
#include <thread>

namespace interlude {
namespace {

using std::chrono::milliseconds;

TEST(Phase, NamesAreDistinctAndLeadBackToThePhase) {
  std::set<std::string_view> names;
  for (const Phase phase : kAllPhases) {
    EXPECT_TRUE(names.insert(PhaseName(phase)).second) << PhaseName(phase);
    EXPECT_EQ(PhaseFromName(PhaseName(phase)), phase);
    EXPECT_EQ(PhaseFromNumber(static_cast<int>(phase)), phase);
    EXPECT_FALSE(PhaseMeaning(phase).empty());
  }
  EXPECT_EQ(names.count("unknown"), 0u);
}

TEST(Phase, ANumberOrNameThatIsNoPhaseIsRefused) {
  EXPECT_EQ(PhaseFromNumber(0), std::nullopt);
  EXPECT_EQ(PhaseFromNumber(14), std::nullopt);
  EXPECT_EQ(PhaseFromNumber(-1), std::nullopt);
  EXPECT_EQ(PhaseFromNumber(256 + 1), std::nullopt);
  EXPECT_EQ(PhaseFromName("unknown"), std::nullopt);
  EXPECT_EQ(PhaseName(static_cast<Phase>(200)), "unknown");
}

TEST(Phase, WorkersAndCoordinatorsPhasesAreToldApart) {
  EXPECT_TRUE(IsWorkerPhase(Phase::kPrepare));
  EXPECT_FALSE(IsWorkerPhase(Phase::kReceive));
}

TEST(PhaseTimer, CoversFirstEnterToLastLeaveAndCountsOnlyTheInsideAsBusy) {
  ManualClock clock(milliseconds(100));
  PhaseTimer timer(Phase::kEncode, 7, 3, clock);
  {
    const auto scope = timer.Enter();
    clock.Advance(milliseconds(10));
    timer.AddBytes(500);
    timer.AddChunk();
  }
  clock.Advance(milliseconds(50));
  {
    const auto scope = timer.Enter();
    clock.Advance(milliseconds(20));
    timer.AddBytes(70);
    timer.AddChunk();
  }
  clock.Advance(milliseconds(5));
  const Span span = timer.Finish();
  EXPECT_EQ(span.phase, Phase::kEncode);
  EXPECT_EQ(span.round, 7u);
  EXPECT_EQ(span.recorded_by, 3);
  EXPECT_EQ(span.about_worker, kNoWorker);
  EXPECT_EQ(span.begin_ns, Nanoseconds(milliseconds(100)).count());
  EXPECT_EQ(span.end_ns, Nanoseconds(milliseconds(180)).count());
  EXPECT_EQ(span.busy_ns, Nanoseconds(milliseconds(30)).count());
  EXPECT_EQ(span.bytes, 570u);
  EXPECT_EQ(span.chunks, 2u);
  EXPECT_TRUE(span.ok);
}

TEST(PhaseTimer, APhaseNeverEnteredIsEmptyAndNow) {
  ManualClock clock(milliseconds(42));
  PhaseTimer timer(Phase::kReceive, 1, kNoWorker, clock, 2);
  timer.MarkFailed();
  const Span span = timer.Finish();
  EXPECT_FALSE(timer.entered());
  EXPECT_EQ(span.begin_ns, Nanoseconds(milliseconds(42)).count());
  EXPECT_EQ(span.end_ns, span.begin_ns);
  EXPECT_EQ(span.busy_ns, 0);
  EXPECT_EQ(span.about_worker, 2);
  EXPECT_FALSE(span.ok);
}

TEST(PhaseTimer, CountsTheThreadsOwnCpuTimeAndThatOfHelpers) {
  ManualClock clock;
  PhaseTimer timer(Phase::kApply, 0, 0, clock);
  const int64_t wanted = 3'000'000;
  {
    const auto scope = timer.Enter();
    const int64_t begin = ReadThreadTimes().cpu_ns;
    while (ReadThreadTimes().cpu_ns - begin < wanted) {
    }
  }
  const int64_t own = timer.Finish().cpu_ns;
  EXPECT_GE(own, wanted);
  EXPECT_LT(own, 100 * wanted);
  timer.AddCpu(11);
  EXPECT_EQ(timer.Finish().cpu_ns, own + 11);
}

TEST(PhaseTimer, TwoThreadsInsideAtOnceAreBusyOnce) {
  ManualClock clock;
  PhaseTimer timer(Phase::kMerge, 1, kNoWorker, clock);
  {
    const auto first = timer.Enter();
    clock.Advance(milliseconds(3));
    {
      const auto second = timer.Enter();
      clock.Advance(milliseconds(4));
    }
    clock.Advance(milliseconds(5));
  }
  EXPECT_EQ(timer.Finish().busy_ns, Nanoseconds(milliseconds(12)).count());
}

TEST(PhaseTimer, LosesNothingWhenThreadsEnterAtOnce) {
  const Clock& clock = SystemClock();
  PhaseTimer timer(Phase::kMerge, 1, kNoWorker, clock);
  const auto work = [&] {
    for (int i = 0; i < 1000; ++i) {
      const auto scope = timer.Enter();
      timer.AddBytes(2);
      timer.AddChunk();
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_LE(timer.Finish().busy_ns, timer.Finish().end_ns - timer.Finish().begin_ns)
      << "a time during which two were inside was counted twice";
  EXPECT_EQ(timer.Finish().bytes, 4000u);
  EXPECT_EQ(timer.Finish().chunks, 2000u);
}

TEST(Recorder, GivesSpansInOrderOnce) {
  Recorder recorder;
  recorder.Record(Span{.phase = Phase::kTrain, .round = 1});
  recorder.Record(Span{.phase = Phase::kEncode, .round = 1});
  const std::vector<Span> spans = recorder.Take().spans;
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].phase, Phase::kTrain);
  EXPECT_EQ(spans[1].phase, Phase::kEncode);
  EXPECT_TRUE(recorder.Take().empty());
}

TEST(Recorder, DropsAndCountsWhatIsTooMuchAndKeepsTheOldest) {
  Recorder recorder;
  for (uint32_t i = 0; i < kMaxRecordedSpans + 3; ++i) recorder.Record(Span{.round = i});
  EXPECT_EQ(recorder.dropped(), 3u);
  const std::vector<Span> spans = recorder.Take().spans;
  ASSERT_EQ(spans.size(), kMaxRecordedSpans);
  EXPECT_EQ(spans.back().round, kMaxRecordedSpans - 1);
  recorder.Record(Span{.round = 9});
  EXPECT_EQ(recorder.Take().spans.size(), 1u);
}

TEST(Recorder, LosesNothingWhenThreadsRecordAtOnce) {
  Recorder recorder;
  const auto record = [&] {
    for (int i = 0; i < 1000; ++i) recorder.Record(Span{});
  };
  std::thread other(record);
  record();
  other.join();
  EXPECT_EQ(recorder.Take().spans.size(), 2000u);
}

TEST(Recorder, TakesFromItsSourcesToo) {
  Recorder recorder;
  int calls = 0;
  recorder.AddSource([&calls] {
    ++calls;
    Account account;
    account.memory.push_back({.owner = "base", .bytes = calls});
    return account;
  });
  recorder.Record(Span{.phase = Phase::kTrain});
  const Account first = recorder.Take();
  EXPECT_EQ(first.spans.size(), 1u);
  ASSERT_EQ(first.memory.size(), 1u);
  EXPECT_EQ(first.memory.front().bytes, 1);
  EXPECT_EQ(recorder.Take().memory.front().bytes, 2);
}

// In a process of its own: the variable is read once.
TEST(RecorderDeathTest, RecordsNothingWhereTheEnvironmentSaysSo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto record = [] {
    ::setenv("INTERLUDE_WITHOUT_ACCOUNT", "1", 1);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);  // the log, so that its words are seen
    const Clock& clock = SystemClock();
    Recorder recorder;
    PhaseTimer timer(Phase::kEncode, 1, 0, clock);
    { const auto scope = timer.Enter(7); }
    timer.AddStamp(8, Nanoseconds(1), Nanoseconds(2));
    recorder.Record(timer);
    recorder.Record(Span{});
    std::exit(recorder.Take().empty() && timer.Stamps().stamps.empty() ? 0 : 1);
  };
  EXPECT_EXIT(record(), ::testing::ExitedWithCode(0), "keeps no account");
}

TEST(RecorderDeathTest, RecordsWhereTheEnvironmentSaysAnythingButOne) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const char* value : {"", "0", "no"}) {
    const auto record = [value] {
      ::setenv("INTERLUDE_WITHOUT_ACCOUNT", value, 1);
      Recorder recorder;
      recorder.Record(Span{});
      std::exit(recorder.Take().empty() ? 1 : 0);
    };
    EXPECT_EXIT(record(), ::testing::ExitedWithCode(0), "") << value;
  }
}

}  // namespace
}  // namespace interlude
