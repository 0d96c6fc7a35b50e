// A mutex that clang's -Wthread-safety understands. Locks are never held across I/O.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define INTERLUDE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define INTERLUDE_THREAD_ANNOTATION(x)
#endif

#define INTERLUDE_CAPABILITY(x) INTERLUDE_THREAD_ANNOTATION(capability(x))
#define INTERLUDE_SCOPED_CAPABILITY INTERLUDE_THREAD_ANNOTATION(scoped_lockable)
#define INTERLUDE_GUARDED_BY(x) INTERLUDE_THREAD_ANNOTATION(guarded_by(x))
#define INTERLUDE_REQUIRES(...) INTERLUDE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define INTERLUDE_EXCLUDES(...) INTERLUDE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define INTERLUDE_ACQUIRE(...) INTERLUDE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define INTERLUDE_RELEASE(...) INTERLUDE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define INTERLUDE_NO_THREAD_SAFETY_ANALYSIS INTERLUDE_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace interlude {

class INTERLUDE_CAPABILITY("mutex") Mutex {
 public:
  void Lock() INTERLUDE_ACQUIRE() { mutex_.lock(); }
  void Unlock() INTERLUDE_RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

/// Holds a Mutex for a scope.
class INTERLUDE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) INTERLUDE_ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() INTERLUDE_RELEASE() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// Condition variable for Mutex. Waits may wake spuriously: loop on the condition.
class CondVar {
 public:
  void Wait(Mutex& mutex) INTERLUDE_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  /// Returns false when `duration` passed without a wake-up.
  template <typename Duration>
  bool WaitFor(Mutex& mutex, Duration duration) INTERLUDE_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool woken = condition_.wait_for(lock, duration) == std::cv_status::no_timeout;
    lock.release();
    return woken;
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace interlude
