// The codec's threads, shared by the thread that encodes and the one that applies: one of them at a
// time.
#pragma once

#include <cstdint>
#include <functional>

#include "base/mutex.h"
#include "base/thread_pool.h"
#include "ledger/recorder.h"

namespace interlude {

/// Any thread. ThreadPool serves one calling thread at a time, and its helpers' CPU time can be
/// told apart only when one phase runs at a time; so a chunk's worth of work holds the pool.
class CodecPool {
 public:
  explicit CodecPool(int threads) : pool_(threads) {}

  /// Runs `work` inside `timer`, which is charged the helpers' CPU time too. The wait for the other
  /// thread's chunk is not in the timer.
  template <typename Work>
  void Run(PhaseTimer& timer, const Work& work) {
    MutexLock lock(mutex_);
    const int64_t before = pool_.HelperCpuNs();
    {
      const PhaseTimer::Scope scope = timer.Enter();
      work(pool_);
    }
    timer.AddCpu(pool_.HelperCpuNs() - before);
  }

  int threads() const { return pool_.threads(); }

 private:
  Mutex mutex_;
  ThreadPool pool_;
};

}  // namespace interlude
