// Ranks that meet through Gloo: on the CPU, and on CUDA devices where there is no NCCL.
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "train/c10d_group.h"
#include "train/rank_backends.h"

namespace interlude {
namespace {

using Gloo = c10d::ProcessGroupGloo;

class GlooGroup final : public C10dGroup<Gloo> {
 public:
  using C10dGroup::C10dGroup;

 private:
  Pointer Make(const c10::intrusive_ptr<c10d::Store>& store,
               std::chrono::milliseconds timeout) override {
    const auto options = Gloo::Options::create(timeout);
    // Not the default, which listens where other machines reach it.
    options->devices.push_back(Gloo::createDeviceForHostname("127.0.0.1"));
    return c10::make_intrusive<Gloo>(store, static_cast<int>(rank()), static_cast<int>(ranks()),
                                     options);
  }
  void Wait(c10d::Work& work) override { work.wait(); }
  // The others' connections break, so that they don't wait for the timeout.
  void GiveUp(Pointer& backend) override { backend.reset(); }
};

}  // namespace

std::unique_ptr<RankGroup> CreateGlooGroup(RankPlace place) {
  return std::make_unique<GlooGroup>(std::move(place));
}

}  // namespace interlude
