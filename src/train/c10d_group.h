// A RankGroup over one of c10d's backends. Only for the files that make one: c10d's headers are
// large.
#pragma once

#include <ATen/ATen.h>

#include <chrono>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <utility>
#include <vector>

#include "train/rank_group.h"
#include "train/without_exceptions.h"

namespace interlude {

/// `Backend` is a class like c10d::ProcessGroupGloo; what is used of it is the same in LibTorch
/// 1.13 and 2.x, where its base class differs.
template <typename Backend>
class C10dGroup : public RankGroup {
 public:
  explicit C10dGroup(RankPlace place) : RankGroup(std::move(place)) {}

  Status Connect() final {
    return Try([&] {
      // By way of a file, which no other user of the machine can write to.
      const auto store = c10::make_intrusive<c10d::FileStore>(place().directory + "/store",
                                                              static_cast<int>(ranks()));
      const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(place().timeout);
      store->setTimeout(timeout);
      backend_ = Make(store, timeout);
    });
  }

  Status Broadcast(at::Tensor& values) final {
    return Try([&] {
      std::vector<at::Tensor> tensors = {values};
      Wait(*backend_->broadcast(tensors, c10d::BroadcastOptions()));
    });
  }

  Status Sum(at::Tensor& values) final {
    return Try([&] {
      std::vector<at::Tensor> tensors = {values};
      Wait(*backend_->allreduce(tensors, c10d::AllreduceOptions()));
    });
  }

 protected:
  using Pointer = c10::intrusive_ptr<Backend>;

  virtual Pointer Make(const c10::intrusive_ptr<c10d::Store>& store,
                       std::chrono::milliseconds timeout) = 0;
  /// Until the operation has ended; throws when it failed or took longer than the timeout.
  virtual void Wait(c10d::Work& work) = 0;
  /// After a failure.
  virtual void GiveUp(Pointer& backend) = 0;

 private:
  template <typename Body>
  Status Try(Body&& body) {
    const Status status =
        over_ ? AbortedError("this group of ranks has failed before") : WithoutExceptions([&] {
          body();
          return OkStatus();
        });
    if (status.ok() || over_) return status;
    over_ = true;
    GiveUp(backend_);
    return AbortedError("the ranks' common operation failed: {}", status.message());
  }

  Pointer backend_;
  bool over_ = false;
};

}  // namespace interlude
