// The first parameters of a vision transformer out of safetensors files that others made. Reads one
// tensor at a time into the place where it belongs. Any thread may read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/run_config.h"
#include "model/model_parameters.h"
#include "model/weight_plan.h"
#include "store/safetensors_set.h"

namespace interlude {

class PretrainedWeights {
 public:
  /// Opens `config.pretrained` and plans what becomes of it; reads no values. `parameters` are
  /// those of ModelParameters(config). Errors as SafetensorsSet::Open and PlanWeights, with the
  /// path in front; InvalidArgument where a config.json of Hugging Face beside the file says
  /// another number of heads or another activation than the model has.
  static StatusOr<PretrainedWeights> Open(const ModelConfig& config,
                                          std::vector<ModelParameter> parameters);

  /// Whether tensor `index` of the model comes from the files; else it begins as without them.
  bool Holds(size_t index) const { return plan_.tensors[index].kind != PlannedTensor::Kind::kNew; }

  /// Its values, for one that the files hold. DataLoss where one of them is NaN or Inf or the file
  /// has become shorter.
  Status Read(size_t index, std::span<float> values) const;

  /// What was matched, resized, newly made and ignored, a line each.
  std::vector<std::string> Report() const;

 private:
  PretrainedWeights() = default;
  Status ReadResized(const PlannedTensor& planned, std::span<float> values) const;

  SafetensorsSet files_;
  std::vector<SafetensorsEntry> entries_;
  std::vector<ModelParameter> parameters_;
  WeightPlan plan_;
  std::vector<std::string> notes_;
};

/// The sizes of the model in these files, as far as its tensors and a config.json beside them tell;
/// with the preset's name where it is one. The number of heads is config.json's, else the preset's,
/// else one for each 64 of hidden_size. InvalidArgument when it is no vision transformer.
StatusOr<ModelConfig> ModelOf(const SafetensorsSet& files);

}  // namespace interlude
