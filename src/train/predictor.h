// Tells what is on pictures that belong to no data set, with a model that was trained before. Free
// of LibTorch's headers, as trainer_factory.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/run_config.h"
#include "layout/layout.h"
#include "ledger/data_facts.h"
#include "train/top_classes.h"

namespace interlude {

/// What the model says of one file.
struct FilePrediction {
  std::string file;
  Status status;  // why it could not be read; the path begins the message
  std::vector<ClassProbability> top;
};

struct PredictOptions {
  uint32_t top = 5;    // classes a file
  uint32_t batch = 0;  // pictures that are computed at once; 0: as an evaluation
};

/// One thread at a time.
class Predictor {
 public:
  virtual ~Predictor() = default;

  virtual const Layout& layout() const = 0;
  /// Sets the parameters from flat position `first` on. DataLoss naming the first that is NaN or
  /// infinite.
  virtual Status SetParameters(size_t first, std::span<const float> values) = 0;
  /// Hands what it says of each file to `take`, in their order, while the next ones are decoded;
  /// an error of `take` ends it. A file that cannot be read is no error. DataLoss naming the file
  /// where the model's answer is no number.
  virtual Status Predict(std::vector<std::string> files, const PredictOptions& options,
                         const std::function<Status(const FilePrediction&)>& take) = 0;
};

/// A predictor whose parameters stand for nothing until they are set. Pictures are prepared as the
/// evaluations of the run that `config` describes do it: decoded to model.channels, the middle by
/// augment.eval_crop or the kind of data.name, normalised as `data` says. The data set itself is
/// not needed.
///
/// Uses `threads` threads for LibTorch, for the whole process, and as many for decoding where
/// data.loader_threads leaves it open. Memory: the parameters, the activations of one batch and
/// data.prefetch + 1 batches.
///
/// FailedPrecondition where config.train.device isn't there, and for a model that goes by running
/// statistics (own_model.h); other errors of OpenModel; InvalidArgument for a model that sees
/// no pictures (kSynthetic, other than 1 or 3 channels) and where `data` has another number of
/// classes or channels than the model, or doesn't say how pixels are normalised.
StatusOr<std::unique_ptr<Predictor>> CreateTorchPredictor(const RunConfig& config,
                                                          const DataFacts& data, int threads);

}  // namespace interlude
