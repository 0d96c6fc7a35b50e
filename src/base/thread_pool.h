// A fixed pool for data-parallel loops over chunks. Its size is chosen from CpuLimits by its owner.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace interlude {

/// ParallelFor may be called from one thread at a time.
class ThreadPool {
 public:
  /// `threads` workers in all, the calling thread of ParallelFor among them: 1 starts no thread.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// Calls body(begin, end) so that the calls cover [0, count) once each, cut at multiples of
  /// `grain`, in no particular order, and returns when all are done. Body must not throw.
  void ParallelFor(size_t count, size_t grain, const std::function<void(size_t, size_t)>& body);

 private:
  void HelperLoop();
  void RunPieces(const std::function<void(size_t, size_t)>& body, size_t count, size_t piece);

  const int threads_;
  std::vector<std::thread> helpers_;
  Mutex mutex_;
  CondVar work_;
  CondVar done_;
  const std::function<void(size_t, size_t)>* body_ INTERLUDE_GUARDED_BY(mutex_) = nullptr;
  size_t count_ INTERLUDE_GUARDED_BY(mutex_) = 0;
  size_t piece_ INTERLUDE_GUARDED_BY(mutex_) = 0;
  uint64_t generation_ INTERLUDE_GUARDED_BY(mutex_) = 0;
  int running_ INTERLUDE_GUARDED_BY(mutex_) = 0;
  bool stop_ INTERLUDE_GUARDED_BY(mutex_) = false;
  std::atomic<size_t> next_{0};
};

}  // namespace interlude
