// A trainer that passes everything on to another: what tests that interfere with training derive
// from.
#pragma once

#include <memory>
#include <utility>

#include "worker/local_trainer.h"

namespace interlude {

class ForwardingTrainer : public LocalTrainer {
 public:
  explicit ForwardingTrainer(std::unique_ptr<LocalTrainer> inner) : inner_(std::move(inner)) {}

  const Layout& layout() const override { return inner_->layout(); }
  std::span<float> parameters() override { return inner_->parameters(); }
  bool MayProvideBase() const override { return inner_->MayProvideBase(); }
  DataFacts data_facts() const override { return inner_->data_facts(); }
  StatusOr<std::unique_ptr<ModelCopy>> MakeDeviceCopy(const RoundConfig& config) override {
    return inner_->MakeDeviceCopy(config);
  }
  StatusOr<TrainResult> TrainRound(const TrainRequest& request,
                                   const StepCallback& on_step) override {
    return inner_->TrainRound(request, on_step);
  }
  StatusOr<EvaluationResult> Evaluate(uint32_t part, uint32_t parts) override {
    return inner_->Evaluate(part, parts);
  }

 protected:
  LocalTrainer& inner() { return *inner_; }

 private:
  const std::unique_ptr<LocalTrainer> inner_;
};

}  // namespace interlude
