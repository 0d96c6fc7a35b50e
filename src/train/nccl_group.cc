// Ranks that meet through NCCL, each with a CUDA device of its own.
#include <stdlib.h>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "train/c10d_group.h"
#include "train/rank_backends.h"

namespace interlude {
namespace {

using Nccl = c10d::ProcessGroupNCCL;

class NcclGroup final : public C10dGroup<Nccl> {
 public:
  using C10dGroup::C10dGroup;

 private:
  Pointer Make(const c10::intrusive_ptr<c10d::Store>& store,
               std::chrono::milliseconds timeout) override {
    // All ranks are on this machine, and NCCL's first words have no key.
    setenv("NCCL_SOCKET_IFNAME", "=lo", /*overwrite=*/0);
    // Else 1.13's Wait does not wait, and 2.x has a thread that ends the process, without a word
    // to the coordinator, when a rank is late. Whose name is not known to a version is ignored.
    setenv("NCCL_BLOCKING_WAIT", "1", /*overwrite=*/1);
    setenv("TORCH_NCCL_BLOCKING_WAIT", "1", /*overwrite=*/1);
    timeout_ = timeout;
    const auto options = Nccl::Options::create();
    options->timeout = timeout;
    return c10::make_intrusive<Nccl>(store, static_cast<int>(rank()), static_cast<int>(ranks()),
                                     options);
  }
  void Wait(c10d::Work& work) override { work.wait(timeout_); }
  // Its destructor would wait for a device that may never be done.
  void GiveUp(Pointer& backend) override { static_cast<void>(backend.release()); }

  std::chrono::milliseconds timeout_{0};
};

}  // namespace

std::unique_ptr<RankGroup> CreateNcclGroup(RankPlace place) {
  return std::make_unique<NcclGroup>(std::move(place));
}

}  // namespace interlude
