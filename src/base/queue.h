// A bounded first-in first-out queue between threads; the only way round state's owner is reached.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "base/mutex.h"

namespace interlude {

/// Any number of pushing and popping threads.
template <typename T>
class Queue {
 public:
  /// Push waits while `capacity` items are inside.
  explicit Queue(size_t capacity) : capacity_(capacity) {}

  /// Waits for room. False, and the item dropped, when the queue is closed.
  bool Push(T item) {
    MutexLock lock(mutex_);
    while (items_.size() >= capacity_ && !closed_) room_.Wait(mutex_);
    if (closed_) return false;
    items_.push_back(std::move(item));
    filled_.NotifyOne();
    return true;
  }

  /// As Push, but does not wait: false, and the item dropped, also when the queue is full.
  bool TryPush(T item) {
    MutexLock lock(mutex_);
    if (closed_ || items_.size() >= capacity_) return false;
    items_.push_back(std::move(item));
    filled_.NotifyOne();
    return true;
  }

  /// Waits for an item. Nothing when the queue is closed and empty.
  std::optional<T> Pop() {
    MutexLock lock(mutex_);
    while (items_.empty() && !closed_) filled_.Wait(mutex_);
    return TakeFront();
  }

  /// As Pop, but gives up after `duration` (then nothing; ask closed() to tell the two apart).
  template <typename Duration>
  std::optional<T> PopFor(Duration duration) {
    const auto deadline = std::chrono::steady_clock::now() + duration;
    MutexLock lock(mutex_);
    // A wake-up may be spurious, or another thread may have taken the item: wait for what is left
    // of the time.
    while (items_.empty() && !closed_) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left <= left.zero()) break;
      filled_.WaitFor(mutex_, left);
    }
    return TakeFront();
  }

  /// Wakes all waiting threads; items inside can still be popped.
  void Close() {
    MutexLock lock(mutex_);
    closed_ = true;
    filled_.NotifyAll();
    room_.NotifyAll();
  }

  bool closed() const {
    MutexLock lock(mutex_);
    return closed_;
  }

 private:
  std::optional<T> TakeFront() INTERLUDE_REQUIRES(mutex_) {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    room_.NotifyOne();
    return item;
  }

  const size_t capacity_;
  mutable Mutex mutex_;
  CondVar filled_;
  CondVar room_;
  std::deque<T> items_ INTERLUDE_GUARDED_BY(mutex_);
  bool closed_ INTERLUDE_GUARDED_BY(mutex_) = false;
};

}  // namespace interlude
