// What the ranks of a worker agree on in a local step and after a round. One thread; all ranks call
// the same (rank_group.h).
#pragma once

#include <ATen/ATen.h>

#include "train/rank_group.h"

namespace interlude {

struct StepState {
  double loss = 0;    // mean over the samples
  bool go_on = true;  // false: somebody wants to stop
};

/// `gradient` becomes the mean over the ranks, whose parts of the batch are of one size, and the
/// result's loss likewise; it goes on where all ranks do. Errors as RankGroup.
StatusOr<StepState> AgreeOnStep(RankGroup& ranks, at::Tensor& gradient, const StepState& own);

/// DataLoss where this rank's parameters are not the bits of rank 0's. One pass over them. Errors
/// as RankGroup.
Status CheckSameParameters(RankGroup& ranks, const at::Tensor& parameters, uint32_t round);

}  // namespace interlude
