// The bulk calls of one round, so that another thread can end them all at once: when the
// coordinator ends the session, when the worker is told to stop, when encoding fails. Any thread.
#pragma once

#include <grpcpp/client_context.h>

#include <set>

#include "base/mutex.h"

namespace interlude {

class CallGroup {
 public:
  /// Cancels the calls that are under way, and every later one as it begins.
  void Cancel();
  bool cancelled() const;

  /// A call's place in the group while its context lives. Declared after the context.
  class Membership {
   public:
    Membership(CallGroup& group, grpc::ClientContext& context);
    ~Membership();
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;

   private:
    CallGroup& group_;
    grpc::ClientContext& context_;
  };

 private:
  mutable Mutex mutex_;
  bool cancelled_ INTERLUDE_GUARDED_BY(mutex_) = false;
  std::set<grpc::ClientContext*> contexts_ INTERLUDE_GUARDED_BY(mutex_);
};

}  // namespace interlude
