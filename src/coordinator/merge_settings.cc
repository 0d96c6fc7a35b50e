#include "coordinator/merge_settings.h"

namespace interlude {

// The numbers are the same.
static_assert(static_cast<Codec>(CodecKind::kQ4) == Codec::kQ4 &&
              static_cast<Codec>(CodecKind::kQ8) == Codec::kQ8 &&
              static_cast<Codec>(CodecKind::kFp32) == Codec::kFp32);
Codec CodecOf(const RunConfig& config) { return static_cast<Codec>(config.round.codec); }

MergeOptions MergeOptionsOf(const RunConfig& config) {
  MergeOptions options{.trim = config.outer.trim, .norm_bound = config.outer.norm_bound};
  switch (config.outer.merge) {
    case MergeRuleKind::kWeightedMean:
      options.rule = MergeRule::kWeightedMean;
      break;
    case MergeRuleKind::kMean:
      options.rule = MergeRule::kMean;
      break;
    case MergeRuleKind::kTrimmedMean:
      options.rule = MergeRule::kTrimmedMean;
      break;
    case MergeRuleKind::kCoordinateMedian:
      options.rule = MergeRule::kCoordinateMedian;
      break;
  }
  return options;
}

OuterOptimizerOptions OuterOptimizerOf(const RunConfig& config) {
  OuterOptimizerOptions options;
  switch (config.outer.optimizer) {
    case OuterOptimizerKind::kSgd:
      options.type = OuterOptimizerType::kSgd;
      break;
    case OuterOptimizerKind::kNesterov:
      options.type = OuterOptimizerType::kNesterov;
      break;
    case OuterOptimizerKind::kAdam:
      options.type = OuterOptimizerType::kAdam;
      break;
  }
  options.learning_rate = static_cast<float>(config.outer.learning_rate);
  options.momentum = static_cast<float>(config.outer.momentum);
  options.beta1 = static_cast<float>(config.outer.beta1);
  options.beta2 = static_cast<float>(config.outer.beta2);
  options.epsilon = static_cast<float>(config.outer.epsilon);
  return options;
}

}  // namespace interlude
