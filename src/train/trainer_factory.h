// Makes the LocalTrainer that trains with LibTorch. Free of LibTorch's headers, so that what
// includes it compiles fast.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "config/run_config.h"
#include "train/rank_group.h"
#include "worker/local_trainer.h"

namespace interlude {

/// A trainer for config.model (kVit, kConvNet) on config.data with the first parameters of
/// config.seed, the same for every worker on every machine, or those of config.model.pretrained;
/// where that isn't on this machine, it may not provide the base. `worker` of `workers` chooses the
/// share of the training samples, or where data are local the order of its own.
///
/// Uses `threads` threads (at least 1) for LibTorch and OpenBLAS together; this holds for the whole
/// process, as do deterministic algorithms. For one seed and one number of threads the results are
/// the same bit for bit (on a CUDA device only as far as its libraries promise). Memory:
/// parameters, gradient and optimizer state (AdamW: 20 bytes a parameter in all) and the
/// activations of one batch, on config.train.device; the data set as bytes, or for files of
/// pictures their cache, and data.prefetch + 1 batches (images/image_pipeline.h).
///
/// FailedPrecondition where config.train.device isn't there (device.h); NotFound or DataLoss for
/// the data set (images/data_set.h) and, where it is there, the pretrained model
/// (model/pretrained.h); InvalidArgument where model and data do not fit together, the batch
/// exceeds a worker's share, or config.model.kind is kSynthetic.
///
/// With `ranks`, which outlives it, it is one of several trainers of one worker, which all do the
/// same at the same time: TrainRound and Evaluate begin with rank 0's parameters, and each rank
/// takes an equal part of every batch and of the test set. The parameters of all are the same bits
/// after a round, which is checked (DataLoss); samples and mean loss are those of all, scores and
/// load its own; a stop that any rank asks for is known to all after the next step's gradient.
/// InvalidArgument where the batch cannot be divided among them. Memory: as above, for each.
StatusOr<std::unique_ptr<LocalTrainer>> CreateTorchTrainer(const RunConfig& config, uint32_t worker,
                                                           uint32_t workers, int threads,
                                                           RankGroup* ranks = nullptr);

}  // namespace interlude
