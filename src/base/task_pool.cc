#include "base/task_pool.h"

#include <algorithm>
#include <utility>

namespace interlude {

TaskPool::TaskPool(int threads) {
  for (int i = 0; i < std::max(1, threads); ++i) threads_.emplace_back([this] { RunTasks(); });
}

TaskPool::~TaskPool() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    work_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void TaskPool::Submit(std::function<void()> task) {
  MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  work_.NotifyOne();
}

void TaskPool::Drain() {
  MutexLock lock(mutex_);
  while (!tasks_.empty() || running_ > 0) idle_.Wait(mutex_);
}

void TaskPool::RunTasks() {
  for (;;) {
    std::function<void()> task;
    {
      MutexLock lock(mutex_);
      while (tasks_.empty() && !stop_) work_.Wait(mutex_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
      ++running_;
    }
    task();
    task = nullptr;  // what it holds goes before it counts as done
    MutexLock lock(mutex_);
    if (--running_ == 0 && tasks_.empty()) idle_.NotifyAll();
  }
}

}  // namespace interlude
