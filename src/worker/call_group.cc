#include "worker/call_group.h"

namespace interlude {

void CallGroup::Cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
  for (grpc::ClientContext* context : contexts_) context->TryCancel();
}

bool CallGroup::cancelled() const {
  MutexLock lock(mutex_);
  return cancelled_;
}

CallGroup::Membership::Membership(CallGroup& group, grpc::ClientContext& context)
    : group_(group), context_(context) {
  MutexLock lock(group_.mutex_);
  group_.contexts_.insert(&context_);
  if (group_.cancelled_) context_.TryCancel();
}

CallGroup::Membership::~Membership() {
  MutexLock lock(group_.mutex_);
  group_.contexts_.erase(&context_);
}

}  // namespace interlude
