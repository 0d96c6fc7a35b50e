#include "coordinator/call_limits.h"

namespace interlude {
namespace {

constexpr std::chrono::milliseconds kLookEvery{100};

}  // namespace

CallDeadlines::CallDeadlines(const Clock& clock) : clock_(clock), thread_([this] { Run(); }) {}

CallDeadlines::~CallDeadlines() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void CallDeadlines::Run() {
  MutexLock lock(mutex_);
  while (!ending_) {
    if (calls_.empty()) {
      changed_.Wait(mutex_);
      continue;
    }
    const Nanoseconds now = clock_.Now();
    for (Watch::Call& call : calls_) {
      if (now < call.due) continue;
      call.context->TryCancel();
      call.due = Nanoseconds::max();
    }
    changed_.WaitFor(mutex_, kLookEvery);
  }
}

CallDeadlines::Watch::Watch(CallDeadlines& deadlines, grpc::ServerContext& context,
                            Nanoseconds duration)
    : deadlines_(deadlines) {
  MutexLock lock(deadlines_.mutex_);
  place_ = deadlines_.calls_.insert(deadlines_.calls_.end(),
                                    {&context, deadlines_.clock_.Now() + duration});
  deadlines_.changed_.NotifyAll();
}

CallDeadlines::Watch::~Watch() {
  MutexLock lock(deadlines_.mutex_);
  deadlines_.calls_.erase(place_);
}

}  // namespace interlude
