#include "worker/test_trainer.h"

#include <utility>

namespace interlude {
namespace {

class HookedTrainer final : public LocalTrainer {
 public:
  HookedTrainer(std::unique_ptr<LocalTrainer> trainer, AfterTraining after_training)
      : trainer_(std::move(trainer)), after_training_(std::move(after_training)) {}

  const Layout& layout() const override { return trainer_->layout(); }
  std::span<float> parameters() override { return trainer_->parameters(); }
  StatusOr<TrainResult> TrainRound(const TrainRequest& request,
                                   const StepCallback& on_step) override {
    StatusOr<TrainResult> result = trainer_->TrainRound(request, on_step);
    if (after_training_) after_training_(request.round, parameters());
    return result;
  }
  StatusOr<EvaluationResult> Evaluate(uint32_t part, uint32_t parts) override {
    return trainer_->Evaluate(part, parts);
  }

 private:
  std::unique_ptr<LocalTrainer> trainer_;
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
