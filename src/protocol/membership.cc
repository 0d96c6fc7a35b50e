#include "protocol/membership.h"

namespace interlude {

StatusOr<WorkerId> Membership::Join(std::optional<WorkerId> requested) {
  if (requested) {
    if (*requested < 0 || static_cast<uint32_t>(*requested) >= most_) {
      return OutOfRangeError("worker id {} was asked for; this run has ids 0 to {}", *requested,
                             most_ - 1);
    }
    if (stages_.contains(*requested)) {
      return AlreadyExistsError(
          "worker id {} was asked for and is taken by a worker that is still there; ask for no id "
          "to "
          "get a free one",
          *requested);
    }
    stages_[*requested] = WorkerStage::kJoined;
    return *requested;
  }
  WorkerId lowest_free = 0;
  while (stages_.contains(lowest_free)) ++lowest_free;
  if (static_cast<uint32_t>(lowest_free) >= most_) {
    return ResourceExhaustedError(
        "the run was started for {} worker(s) and all are there; start the coordinator with more",
        most_);
  }
  stages_[lowest_free] = WorkerStage::kJoined;
  return lowest_free;
}

Status Membership::Advance(WorkerId worker, WorkerStage from, std::string_view what) {
  const auto found = stages_.find(worker);
  if (found == stages_.end()) {
    return FailedPreconditionError("worker {} is not in this run; it has to join first", worker);
  }
  if (found->second != from) {
    return FailedPreconditionError("worker {} said out of turn that it {}", worker, what);
  }
  found->second = static_cast<WorkerStage>(static_cast<uint8_t>(from) + 1);
  return OkStatus();
}

Status Membership::Ready(WorkerId worker) {
  return Advance(worker, WorkerStage::kJoined, "is ready");
}

Status Membership::CaughtUp(WorkerId worker) {
  return Advance(worker, WorkerStage::kReady, "has caught up");
}

void Membership::AdmitCaughtUp() {
  for (auto& [worker, stage] : stages_) {
    if (stage == WorkerStage::kCaughtUp) stage = WorkerStage::kMember;
  }
}

void Membership::FallBehind(WorkerId worker) {
  const auto found = stages_.find(worker);
  if (found != stages_.end() && found->second == WorkerStage::kMember)
    found->second = WorkerStage::kReady;
}

bool Membership::Leave(WorkerId worker) { return stages_.erase(worker) > 0; }

std::optional<WorkerStage> Membership::stage(WorkerId worker) const {
  const auto found = stages_.find(worker);
  if (found == stages_.end()) return std::nullopt;
  return found->second;
}

std::vector<WorkerId> Membership::at(WorkerStage stage) const {
  std::vector<WorkerId> workers;
  for (const auto& [worker, its_stage] : stages_) {
    if (its_stage == stage) workers.push_back(worker);
  }
  return workers;
}

}  // namespace interlude
