// What interlude-worker can train besides the synthetic model: trainers_torch.cc where it was built
// with LibTorch, else trainers_none.cc.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "config/run_config.h"
#include "ledger/data_facts.h"
#include "protocol/types.h"
#include "train/predictor.h"
#include "worker/local_trainer.h"

namespace interlude {

/// Must be the first thing in main: it may execute the program anew.
void PrepareProcess(char** argv);

/// Which BLAS the matrix products of training go through; see train/blas.h. "blas=none" without
/// LibTorch.
std::string BlasLine();

/// The trainer of a model that is not synthetic. See train/trainer_factory.h.
StatusOr<std::unique_ptr<LocalTrainer>> CreateModelTrainer(const RunConfig& config, WorkerId worker,
                                                           uint32_t workers, int threads);

/// See train/predictor.h.
StatusOr<std::unique_ptr<Predictor>> CreateModelPredictor(const RunConfig& config,
                                                          const DataFacts& data, int threads);

}  // namespace interlude
