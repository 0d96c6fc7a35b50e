#include "bench/memory_sampler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/memory_account.h"

namespace interlude {
namespace {

TEST(MemorySampler, SeesAProcessGrow) {
  MemorySampler sampler(std::chrono::hours(1));
  sampler.Watch("this", getpid());
  sampler.Look();
  Buffer buffer("test", size_t{64} << 20);
  for (size_t i = 0; i < buffer.size(); i += 4096) buffer.bytes()[i] = std::byte{1};
  sampler.Look();
  const auto processes = sampler.Stop();
  ASSERT_EQ(processes.size(), 1u);
  ASSERT_GE(processes[0].samples.size(), 2u);
  EXPECT_GE(processes[0].peak_anonymous,
            processes[0].samples.front().anonymous + (size_t{48} << 20));
  EXPECT_EQ(processes[0].peak_anonymous, processes[0].samples.back().anonymous);
  EXPECT_GE(processes[0].peak_resident, processes[0].peak_anonymous);
}

TEST(MemorySampler, EndsOnceAndThenHasNothingMore) {
  MemorySampler sampler(std::chrono::milliseconds(1));
  sampler.Watch("this", getpid());
  EXPECT_EQ(sampler.Stop().size(), 1u);
  EXPECT_TRUE(sampler.Stop().empty());
}

TEST(MemorySampler, KnowsNothingOfAProcessThatIsGone) {
  MemorySampler sampler(std::chrono::hours(1));
  sampler.Watch("nobody", -1);
  sampler.Look();
  EXPECT_TRUE(sampler.Stop().at(0).samples.empty());
}

TEST(ProcessSamples, AtATimeAreTheLastBeforeIt) {
  const ProcessSamples process{.samples = {{10, 1}, {20, 2}, {30, 3}}};
  EXPECT_EQ(process.AnonymousAt(9), 0u);
  EXPECT_EQ(process.AnonymousAt(10), 1u);
  EXPECT_EQ(process.AnonymousAt(29), 2u);
  EXPECT_EQ(process.AnonymousAt(1000), 3u);
}

}  // namespace
}  // namespace interlude
