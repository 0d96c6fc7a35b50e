#include "ledger/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace interlude {
namespace {

using std::chrono::seconds;

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * 1024;

ProcessSample SampleAt(int64_t second) {
  ProcessSample sample;
  sample.at_ns = second;
  sample.interval_ns = 1;
  sample.cpu_ns = second;
  return sample;
}

TEST(SampleStore, KeepsABoundedNumberThatCoversAllTheTime) {
  for (const int64_t count : {1, 63, 64, 65, 100, 1000, 10'000}) {
    SampleStore store;
    for (int64_t second = 1; second <= count; ++second) store.Add(SampleAt(second));
    const std::vector<ProcessSample> samples = store.Take().samples;
    EXPECT_LE(samples.size(), kMostSamples);
    int64_t end = 0;
    int64_t cpu_ns = 0;
    for (const ProcessSample& sample : samples) {
      EXPECT_EQ(sample.at_ns - sample.interval_ns, end) << "no gap";
      end = sample.at_ns;
      cpu_ns += sample.cpu_ns;
    }
    EXPECT_EQ(end, count);
    EXPECT_EQ(cpu_ns, count * (count + 1) / 2);
    EXPECT_TRUE(store.Take().empty());
  }
}

TEST(SampleStore, RecordsAnOwnerOnlyWhenItHasChanged) {
  SampleStore store;
  const auto records = [&](int64_t at, const std::map<std::string, int64_t>& owners) {
    store.AddMemory(7, at, owners);
    return store.Take().memory;
  };
  EXPECT_THAT(records(1, {{"base", 640 * kMiB}, {"small", 100 * kKiB}, {"none", 0}}),
              testing::ElementsAre(MemoryRecord{7, 1, "base", 640 * kMiB},
                                   MemoryRecord{7, 1, "small", 100 * kKiB}));
  EXPECT_TRUE(records(2, {{"base", 640 * kMiB}, {"small", 100 * kKiB}, {"none", 0}}).empty());
  EXPECT_TRUE(records(3, {{"base", 650 * kMiB}, {"small", 164 * kKiB}}).empty())
      << "no more than a 64th, or than 64 KiB";
  EXPECT_THAT(records(4, {{"base", 650 * kMiB + 1}, {"small", 164 * kKiB + 1}}),
              testing::ElementsAre(MemoryRecord{7, 4, "base", 650 * kMiB + 1},
                                   MemoryRecord{7, 4, "small", 164 * kKiB + 1}));
  EXPECT_THAT(
      records(5, {{"base", 600 * kMiB}}),
      testing::ElementsAre(MemoryRecord{7, 5, "base", 600 * kMiB}, MemoryRecord{7, 5, "small", 0}));
  EXPECT_TRUE(records(6, {{"base", 600 * kMiB}}).empty()) << "gone is said once";
}

TEST(SampleStore, ChangesThatFindNoRoomWaitForTheNextTake) {
  SampleStore store;
  std::map<std::string, int64_t> owners;
  for (size_t i = 0; i < kMostMemoryRecords + 1; ++i) owners[std::to_string(1000 + i)] = kMiB;
  store.AddMemory(0, 1, owners);
  EXPECT_EQ(store.Take().memory.size(), kMostMemoryRecords);
  store.AddMemory(0, 2, owners);
  EXPECT_EQ(store.Take().memory.size(), 1u);
}

TEST(LookSchedule, LooksEveryTwoSecondsAndWhereMemoryHasMoved) {
  LookSchedule looks(seconds(10));
  EXPECT_TRUE(looks.IsDue(seconds(10), 640));
  looks.Looked(seconds(10), 640, 1000);
  EXPECT_FALSE(looks.IsDue(seconds(11), 640));
  EXPECT_FALSE(looks.IsDue(seconds(11), 650)) << "no more than a 64th";
  EXPECT_TRUE(looks.IsDue(seconds(11), 651));
  EXPECT_TRUE(looks.IsDue(seconds(11), 629));
  EXPECT_TRUE(looks.IsDue(seconds(12), 640));
}

TEST(LookSchedule, LooksWhereAPeakIsLikely) {
  LookSchedule looks(seconds(10));
  looks.Looked(seconds(10), 640, 1000);
  EXPECT_FALSE(looks.IsDue(seconds(11), 640));
  EXPECT_TRUE(looks.IsDue(seconds(11), 640, /*peak=*/true));
}

TEST(LookSchedule, KeepsToItsCostWhateverHappens) {
  LookSchedule looks(seconds(10));
  looks.Looked(seconds(10), 640, 6'000'000);  // free
  EXPECT_TRUE(looks.IsDue(seconds(11), 1280));
  looks.Looked(seconds(11), 1280, 2'000'000);  // 24 s worth of a 12,000th
  EXPECT_FALSE(looks.IsDue(seconds(33), 640, /*peak=*/true));
  EXPECT_TRUE(looks.IsDue(seconds(34), 640));
}

TEST(Sampler, TheLastSampleCoversTheTimeUntilItStops) {
  ManualClock clock(seconds(10));
  Sampler sampler({.recorded_by = 3}, clock);
  clock.Advance(std::chrono::milliseconds(500));
  sampler.Stop();
  const Account account = sampler.Take();
  ASSERT_EQ(account.samples.size(), 1u);
  const ProcessSample& sample = account.samples.front();
  EXPECT_EQ(sample.recorded_by, 3);
  EXPECT_EQ(sample.at_ns, 10'500'000'000);
  EXPECT_EQ(sample.interval_ns, 500'000'000);
  EXPECT_GT(sample.cpu_ns, 0);
  EXPECT_GT(sample.rss_bytes, 0);
  EXPECT_GE(sample.threads, 1);
  EXPECT_EQ(sample.tcp_sent_bytes, kUnknownFigure);
  EXPECT_GT(sampler.cpu_ns(), 0);
  EXPECT_TRUE(account.spans.empty());
  sampler.Stop();
  EXPECT_TRUE(sampler.Take().empty()) << "stopped is stopped";
}

TEST(Sampler, ASampleThatIsAskedForComesAtOnce) {
  ManualClock clock(seconds(10));
  Sampler sampler({}, clock);
  clock.Advance(seconds(100));
  sampler.SampleNow();
  std::vector<ProcessSample> samples;
  while (samples.empty()) samples = sampler.Take().samples;
  EXPECT_EQ(samples.front().interval_ns, 100'000'000'000);
  sampler.SampleNow();  // no time has passed: no news
  sampler.Stop();
  samples = sampler.Take().samples;
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples.front().interval_ns, 0);
}

TEST(Sampler, NamesTheOwnersOfMemory) {
  ManualClock clock;
  Sampler sampler({.recorded_by = 1}, clock);
  Buffer buffer("sampled buffer", 8 * kMiB);
  std::memset(buffer.bytes().data(), 1, buffer.size());
  clock.Advance(seconds(1));
  sampler.Stop();
  const Account account = sampler.Take();
  const std::vector<MemoryRecord>& memory = account.memory;
  if (!ExplainResidentMemory()) GTEST_SKIP() << "no page table to read";
  const auto found = std::ranges::find(memory, "sampled buffer", &MemoryRecord::owner);
  ASSERT_NE(found, memory.end());
  EXPECT_GE(found->bytes, 8 * kMiB);
  EXPECT_EQ(found->recorded_by, 1);
  EXPECT_EQ(found->at_ns, account.samples.back().at_ns) << "of one moment";
}

}  // namespace
}  // namespace interlude
