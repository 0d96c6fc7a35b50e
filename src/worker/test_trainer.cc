#include "worker/test_trainer.h"

#include <utility>

#include "worker/forwarding_trainer.h"

namespace interlude {
namespace {

class HookedTrainer final : public ForwardingTrainer {
 public:
  HookedTrainer(std::unique_ptr<LocalTrainer> inner, AfterTraining after_training)
      : ForwardingTrainer(std::move(inner)), after_training_(std::move(after_training)) {}

  StatusOr<TrainResult> TrainRound(const TrainRequest& request,
                                   const StepCallback& on_step) override {
    StatusOr<TrainResult> result = inner().TrainRound(request, on_step);
    if (after_training_) after_training_(request.round, parameters());
    return result;
  }

 private:
  AfterTraining after_training_;
};

}  // namespace

RunConfig SmallConfig() {
  RunConfig config;
  config.model.kind = ModelKind::kSynthetic;
  config.model.synthetic_params = 1000;
  config.model.synthetic_step_ms = 0;
  config.round.rounds = 3;
  config.round.local_steps = 4;
  config.round.chunk_params = 192;
  return config;
}

TrainerFactory SyntheticFactory(AfterTraining after_training) {
  return [after_training](const RunConfig& config, WorkerId worker, uint32_t workers,
                          int) -> StatusOr<std::unique_ptr<LocalTrainer>> {
    INTERLUDE_ASSIGN_OR_RETURN(auto trainer, CreateSyntheticTrainer(config, worker, workers));
    return std::unique_ptr<LocalTrainer>(new HookedTrainer(std::move(trainer), after_training));
  };
}

}  // namespace interlude
