// Threads that carry out tasks in the order in which they were submitted: the codec's work, one
// chunk a task. The number of threads is chosen from CpuLimits by the owner.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace interlude {

/// Any thread may submit, tasks too.
class TaskPool {
 public:
  /// At least one thread.
  explicit TaskPool(int threads);
  /// Carries out all that was submitted.
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  int threads() const { return static_cast<int>(threads_.size()); }

  /// Begins the task when a thread is free. It must not throw, nor wait for a later task.
  void Submit(std::function<void()> task);

  /// Waits until everything submitted so far and meanwhile is done. Not from a task.
  void Drain();

 private:
  void RunTasks();

  Mutex mutex_;
  CondVar work_;
  CondVar idle_;
  std::deque<std::function<void()>> tasks_ INTERLUDE_GUARDED_BY(mutex_);
  size_t running_ INTERLUDE_GUARDED_BY(mutex_) = 0;
  bool stop_ INTERLUDE_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace interlude
