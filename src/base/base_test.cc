#include <gtest/gtest.h>
#include "base/log.h"
#include "base/thread_pool.h"
#include "base/cpu_quota.h"
namespace interlude {
TEST(ThreadPool, CoversEveryIndexOnce) {
  ThreadPool pool(3);
  std::vector<int> hits(1000);
  pool.ParallelFor(hits.size(), 7, [&](size_t b, size_t e) { for (size_t i = b; i < e; ++i) ++hits[i]; });
  for (int h : hits) EXPECT_EQ(h, 1);
}
}  // namespace interlude
