// What a worker knows of training: parameters that move when it says so. src/train implements it
// with LibTorch; SyntheticTrainer (worker/synthetic_trainer.h) without.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/status.h"
#include "config/run_config.h"
#include "layout/layout.h"
#include "ledger/confusion.h"
#include "ledger/data_facts.h"
#include "worker/model_copy.h"

namespace interlude {

/// One round's local training.
struct TrainRequest {
  uint32_t round = 1;  // from 1
  uint64_t first_step =
      0;  // local steps before this round, by any worker that was there: (round - 1) * local_steps
  uint32_t local_steps = 0;
};

/// What it took to have a round's samples ready.
struct LoadFigures {
  int64_t wait_ns = 0;  // training stood still
  int64_t cpu_ns = 0;   // of all threads, since the round before: they work ahead
  uint64_t bytes = 0;   // as the model sees them
};

/// What local training did.
struct TrainResult {
  uint64_t samples = 0;  // seen in this round by this worker; the weight of its delta
  double mean_loss = 0;  // mean over the round's samples
  double last_loss = 0;  // mean over the last step's samples
  std::optional<LoadFigures> load = std::nullopt;  // nothing where nothing is loaded
};

/// This worker's part of an evaluation; the coordinator adds the parts up.
struct EvaluationResult {
  uint64_t correct = 0;
  uint64_t samples = 0;
  double loss_sum = 0;   // over samples
  uint32_t classes = 0;  // 0: what stands below is not known
  uint64_t top5 = 0;     // the right class is among the five likeliest
  Confusion confusion;   // empty where there are more than kMostConfusionClasses
};

/// Called after each local step with (steps done in this round, that step's loss). Returning false
/// asks the trainer to stop: TrainRound then returns Cancelled.
using StepCallback = std::function<bool(uint32_t steps_done, double loss)>;

/// One thread at a time.
class LocalTrainer {
 public:
  virtual ~LocalTrainer() = default;

  /// Names, shapes and chunking; fixed for the trainer's life.
  virtual const Layout& layout() const = 0;

  /// The live parameters as one flat sequence in layout order, layout().total_params() long. The
  /// memory stays where it is for the trainer's life; the worker writes to it between rounds and
  /// the next TrainRound or Evaluate sees what was written. Empty where they're on a device: then
  /// MakeDeviceCopy gives the way to them.
  virtual std::span<float> parameters() = 0;

  /// Whether the parameters may become the run's first base. Not where the pretrained ones are not
  /// on this machine: the worker then gets the base that another one provides.
  virtual bool MayProvideBase() const { return true; }

  /// What the data are, as far as the trainer knows. Workers of one run must not contradict each
  /// other.
  virtual DataFacts data_facts() const { return {}; }

  /// A copy of the model beside the trainer's parameters on its device, which Apply and ReplaceBase
  /// move too; what they are now is the base. Null when parameters() are in host memory, and the
  /// worker keeps its copy there. The trainer outlives it. An error when the device has no room.
  virtual StatusOr<std::unique_ptr<ModelCopy>> MakeDeviceCopy(const RoundConfig&) {
    return std::unique_ptr<ModelCopy>();
  }

  /// Runs local steps [first_step, first_step + local_steps) from the current parameters. Data
  /// order and learning rate follow from first_step alone. Where the loss or a gradient step makes
  /// a parameter NaN or Inf: DataLoss naming the parameter (Layout::DescribePosition) and the step.
  virtual StatusOr<TrainResult> TrainRound(const TrainRequest& request,
                                           const StepCallback& on_step) = 0;

  /// Scores the current parameters on part `part` of `parts` of the test set: samples i with
  /// i % parts == part; on all of it where the data are this worker's own. Does not change
  /// parameters or training state.
  virtual StatusOr<EvaluationResult> Evaluate(uint32_t part, uint32_t parts) = 0;
};

}  // namespace interlude
