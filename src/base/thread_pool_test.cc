#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <latch>
#include <set>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace interlude {
namespace {

TEST(ThreadPool, CoversEveryIndexOnceAndCutsAtMultiplesOfTheGrain) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const size_t grain : {0, 1, 7, 64, 5000}) {
      for (const size_t count : {1, 6, 7, 8, 63, 64, 65, 1000}) {
        std::vector<int> hits(count);
        std::atomic<int> bad_cuts{0};
        pool.ParallelFor(count, grain, [&](size_t begin, size_t end) {
          if (grain > 0 && (begin % grain != 0 || (end % grain != 0 && end != count))) ++bad_cuts;
          for (size_t i = begin; i < end; ++i) ++hits[i];
        });
        EXPECT_EQ(hits, std::vector<int>(count, 1)) << threads << " threads, grain " << grain;
        EXPECT_EQ(bad_cuts.load(), 0)
            << threads << " threads, grain " << grain << ", count " << count;
      }
    }
  }
}

TEST(ThreadPool, OverNothingTheBodyIsNotCalled) {
  ThreadPool pool(2);
  bool called = false;
  pool.ParallelFor(0, 1, [&](size_t, size_t) { called = true; });
  EXPECT_FALSE(called);
}

TEST(ThreadPool, OneThreadIsTheCallersOwn) {
  for (const int threads : {1, 0, -3}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), 1);
    bool elsewhere = false;
    const auto caller = std::this_thread::get_id();
    pool.ParallelFor(100, 1,
                     [&](size_t, size_t) { elsewhere |= std::this_thread::get_id() != caller; });
    EXPECT_FALSE(elsewhere);
  }
}

TEST(ThreadPool, AllThreadsTakePart) {
  constexpr int kThreads = 3;
  ThreadPool pool(kThreads);
  EXPECT_EQ(pool.threads(), kThreads);
  std::latch all_here(kThreads);
  Mutex mutex;
  std::set<std::thread::id> ids;
  pool.ParallelFor(1000, 1, [&](size_t, size_t) {
    bool first = false;
    {
      MutexLock lock(mutex);
      first = ids.insert(std::this_thread::get_id()).second;
    }
    // Each thread stays in its first piece until the others are in theirs.
    if (first) all_here.arrive_and_wait();
  });
  EXPECT_EQ(ids.size(), size_t{kThreads});
}

TEST(ThreadPool, ManyLoopsInARowAreEachComplete) {
  ThreadPool pool(3);
  std::vector<uint64_t> values(50);
  for (uint64_t loop = 1; loop <= 2000; ++loop) {
    pool.ParallelFor(values.size(), 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) values[i] += loop;
    });
  }
  EXPECT_EQ(values, std::vector<uint64_t>(50, 2000 * 2001 / 2));
}

}  // namespace
}  // namespace interlude
