#include "base/thread_times.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

namespace interlude {
namespace {

void BurnCpu(int64_t ns) {
  const int64_t until = ReadThreadTimes().cpu_ns + ns;
  while (ReadThreadTimes().cpu_ns < until) {
  }
}

TEST(ThreadTimes, EachThreadHasItsOwnTime) {
  BurnCpu(20'000'000);
  const ThreadTimes mine = ReadThreadTimes();
  EXPECT_GE(mine.cpu_ns, 20'000'000);
  ThreadTimes others;
  std::thread([&] { others = ReadThreadTimes(); }).join();
  EXPECT_LT(others.cpu_ns, 20'000'000) << "a thread begins at zero";
}

TEST(ThreadTimes, NeitherTimeGoesBack) {
  ThreadTimes last;
  for (int i = 0; i < 1000; ++i) {
    const ThreadTimes now = ReadThreadTimesWithDelay();
    EXPECT_GE(now.cpu_ns, last.cpu_ns);
    EXPECT_GE(now.run_delay_ns, last.run_delay_ns);
    last = now;
  }
}

TEST(ThreadTimes, TheRunDelayIsTheKernelsOwn) {
  const auto kernel_says = [] {
    std::ifstream file("/proc/thread-self/schedstat");
    int64_t on_cpu = 0, delay = -1;
    file >> on_cpu >> delay;
    return delay;
  };
  if (kernel_says() < 0) GTEST_SKIP() << "this kernel has no /proc/thread-self/schedstat";
  std::thread([&] {  // a thread of its own: the file is opened at the first reading
    const int64_t before = kernel_says();
    const int64_t read = ReadThreadTimesWithDelay().run_delay_ns;
    EXPECT_GE(read, before);
    EXPECT_LE(read, kernel_says());
  })
      .join();
}

}  // namespace
}  // namespace interlude
