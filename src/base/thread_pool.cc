#include "base/thread_pool.h"

#include <algorithm>

namespace interlude {

ThreadPool::ThreadPool(int threads) : threads_(std::max(1, threads)) {
  for (int i = 1; i < threads_; ++i) helpers_.emplace_back([this] { HelperLoop(); });
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    work_.NotifyAll();
  }
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadPool::RunPieces(const std::function<void(size_t, size_t)>& body, size_t count,
                           size_t piece) {
  for (;;) {
    const size_t begin = next_.fetch_add(piece, std::memory_order_relaxed);
    if (begin >= count) return;
    body(begin, std::min(count, begin + piece));
  }
}

void ThreadPool::ParallelFor(size_t count, size_t grain,
                             const std::function<void(size_t, size_t)>& body) {
  if (count == 0) return;
  grain = std::max<size_t>(1, grain);
  if (helpers_.empty() || count <= grain) {
    body(0, count);
    return;
  }
  // A few pieces a thread even out unequal speeds without many trips to the shared counter.
  const size_t wanted = count / (static_cast<size_t>(threads_) * 4) + 1;
  const size_t piece = (wanted + grain - 1) / grain * grain;
  {
    MutexLock lock(mutex_);
    body_ = &body;
    count_ = count;
    piece_ = piece;
    next_.store(0, std::memory_order_relaxed);
    running_ = static_cast<int>(helpers_.size());
    ++generation_;
    work_.NotifyAll();
  }
  RunPieces(body, count, piece);
  MutexLock lock(mutex_);
  while (running_ > 0) done_.Wait(mutex_);
  body_ = nullptr;
}

void ThreadPool::HelperLoop() {
  uint64_t seen = 0;
  for (;;) {
    const std::function<void(size_t, size_t)>* body = nullptr;
    size_t count = 0;
    size_t piece = 0;
    {
      MutexLock lock(mutex_);
      while (!stop_ && generation_ == seen) work_.Wait(mutex_);
      if (stop_) return;
      seen = generation_;
      body = body_;
      count = count_;
      piece = piece_;
    }
    RunPieces(*body, count, piece);
    MutexLock lock(mutex_);
    if (--running_ == 0) done_.NotifyOne();
  }
}

}  // namespace interlude
