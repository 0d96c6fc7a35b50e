// Which tensor of a file becomes which tensor of a vision transformer, decided from names, shapes
// and types alone. No values, no files. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/run_config.h"
#include "model/model_parameters.h"
#include "model/weight_names.h"
#include "store/safetensors.h"

namespace interlude {

/// Where one of the model's tensors comes from.
struct PlannedTensor {
  enum class Kind : uint8_t {
    kMatched,  // values [first, first + count) of the file's tensor
    kResized,  // position embeddings of another grid
    kNew,      // as without a file
  };
  Kind kind = Kind::kNew;
  size_t source = 0;  // of the file's tensors
  uint64_t first = 0;
  uint32_t from_side = 0;  // kResized: patches a side in the file and in the model
  uint32_t to_side = 0;
};

struct WeightPlan {
  WeightNaming naming = WeightNaming::kHuggingFace;
  std::vector<PlannedTensor> tensors;  // one for each of the model's
  std::vector<size_t> ignored;         // of the file's tensors
  std::string why_new_head;            // empty where the file's is taken
};

/// The plan for `parameters`, those of ModelParameters(config). InvalidArgument, naming the tensor
/// and what to change, when the naming is none that is known, a shape or type does not fit, or,
/// unless config.allow_missing, when more than the head is not there or the file holds what would
/// change the result and the model has no place for.
StatusOr<WeightPlan> PlanWeights(const ModelConfig& config,
                                 const std::vector<ModelParameter>& parameters,
                                 std::span<const SafetensorsEntry> file);

/// What the plan does, a line each: matched, resized, newly made, ignored, with names and counts.
std::vector<std::string> DescribePlan(const WeightPlan& plan,
                                      const std::vector<ModelParameter>& parameters,
                                      std::span<const SafetensorsEntry> file);

}  // namespace interlude
