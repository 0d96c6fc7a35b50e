#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace interlude {

double LearningRate(const TrainConfig& config, uint64_t total_steps, uint64_t step) {
  if (step < config.warmup_steps) {
    return config.learning_rate * static_cast<double>(step + 1) / config.warmup_steps;
  }
  if (config.schedule == ScheduleKind::kConstant) return config.learning_rate;
  const double falling = static_cast<double>(total_steps) - config.warmup_steps;
  const double done = static_cast<double>(step) - config.warmup_steps;
  const double share = falling > 0 ? std::min(1.0, done / falling) : 1.0;
  const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * share));
  const double last = config.final_learning_rate_ratio;
  return config.learning_rate * (last + (1.0 - last) * cosine);
}

}  // namespace interlude
