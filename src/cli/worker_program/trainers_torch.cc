#include "cli/worker_program/trainers.h"
#include "train/blas.h"
#include "train/trainer_factory.h"

namespace interlude {

void PrepareProcess(char** argv) { EnsureFastBlas(argv); }

StatusOr<std::unique_ptr<LocalTrainer>> CreateModelTrainer(const RunConfig& config, WorkerId worker,
                                                           uint32_t workers, int threads) {
  return CreateTorchTrainer(config, static_cast<uint32_t>(worker), workers, threads);
}

StatusOr<std::unique_ptr<Predictor>> CreateModelPredictor(const RunConfig& config,
                                                          const DataFacts& data, int threads) {
  return CreateTorchPredictor(config, data, threads);
}

}  // namespace interlude
