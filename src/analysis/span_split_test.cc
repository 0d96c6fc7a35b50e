#include "analysis/span_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace interlude {
namespace {

Span MakeSpan(Phase phase, int64_t inside, int64_t busy, int64_t cpu, int64_t delay,
              int64_t blocked) {
  Span span;
  span.phase = phase;
  span.begin_ns = 1000;
  span.end_ns = 1000 + inside;
  span.busy_ns = busy;
  span.cpu_ns = cpu;
  span.run_delay_ns = delay;
  span.blocked_ns = blocked;
  return span;
}

TEST(SpanSplitTest, OneThreadsTimesStandAsTheyAre) {
  EXPECT_EQ(SplitSpan(MakeSpan(Phase::kUpload, 100, 90, 20, 30, 40)), (SpanSplit{20, 30, 40, 10}));
}

TEST(SpanSplitTest, ThreadsSideBySideAreScaledToTheWallTime) {
  // Four threads, each 10 on a CPU, 30 ready and 10 asleep within 50.
  EXPECT_EQ(SplitSpan(MakeSpan(Phase::kEncode, 50, 50, 40, 120, 40)), (SpanSplit{10, 30, 10, 0}));
}

TEST(SpanSplitTest, TrainingIsTheTimeOfTheThreadThatCalledTheLibrary) {
  // Its threads ran for 800 together; the one that called waited 20 and slept 10 of 100.
  EXPECT_EQ(SplitSpan(MakeSpan(Phase::kTrain, 100, 100, 800, 20, 10)), (SpanSplit{70, 20, 10, 0}));
}

TEST(SpanSplitTest, WhatIsNotRecordedCountsAsAsleep) {
  EXPECT_EQ(SplitSpan(MakeSpan(Phase::kUpload, 100, 100, 20, 30, 0)), (SpanSplit{20, 30, 50, 0}));
}

TEST(SpanSplitTest, ThePartsAddUpToTheSpanWhateverItHolds) {
  std::mt19937_64 random(3);
  const auto any = [&] {
    const int64_t values[] = {0,
                              1,
                              -1,
                              std::numeric_limits<int64_t>::max(),
                              std::numeric_limits<int64_t>::min(),
                              static_cast<int64_t>(random() % 1'000'000),
                              static_cast<int64_t>(random())};
    return values[random() % std::size(values)];
  };
  for (int i = 0; i < 20'000; ++i) {
    Span span = MakeSpan(i % 2 ? Phase::kTrain : Phase::kEncode, 0, any(), any(), any(), any());
    span.begin_ns = any();
    span.end_ns = any();
    const SpanSplit split = SplitSpan(span);
    const __int128 inside = static_cast<__int128>(span.end_ns) - span.begin_ns;
    EXPECT_EQ(split.inside_ns(),
              static_cast<int64_t>(std::clamp<__int128>(inside, 0, int64_t{1} << 55)));
    EXPECT_GE(std::min({split.on_cpu_ns, split.run_delay_ns, split.blocked_ns, split.between_ns}),
              0);
  }
}

}  // namespace
}  // namespace interlude
