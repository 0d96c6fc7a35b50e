#include "optim/outer_optimizer.h"

#include <cmath>

#include "base/check.h"

// Input and output may be the same memory, which hides from the compiler that no iteration needs
// another's result; this tells it.
#if defined(__clang__)
#define INTERLUDE_INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define INTERLUDE_INDEPENDENT_LOOP _Pragma("GCC ivdep")
#endif

namespace interlude {
namespace {

/// base^exponent by squaring: unlike std::pow the same bits with every C library.
double PowerOf(double base, uint64_t exponent) {
  double result = 1.0;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return result;
}

void SgdStep(float learning_rate, std::span<const float> delta, std::span<float> update) {
  const float* d = delta.data();
  float* u = update.data();
  INTERLUDE_INDEPENDENT_LOOP
  for (size_t i = 0; i < delta.size(); ++i) u[i] = learning_rate * d[i];
}

void NesterovStep(float learning_rate, float momentum, std::span<const float> delta, float* m,
                  std::span<float> update) {
  const float* d = delta.data();
  float* u = update.data();
  INTERLUDE_INDEPENDENT_LOOP
  for (size_t i = 0; i < delta.size(); ++i) {
    const float next = momentum * m[i] + d[i];
    const float ahead = d[i] + momentum * next;
    m[i] = next;
    u[i] = learning_rate * ahead;
  }
}

struct AdamFactors {
  float beta1, one_minus_beta1, beta2, one_minus_beta2;
  float step_size;        // lr / (1 - beta1^step)
  float root_correction;  // sqrt(1 - beta2^step)
  float epsilon;
};

AdamFactors MakeAdamFactors(const OuterOptimizerOptions& options, uint64_t step) {
  const double beta1 = static_cast<double>(options.beta1);
  const double beta2 = static_cast<double>(options.beta2);
  return {.beta1 = options.beta1,
          .one_minus_beta1 = static_cast<float>(1.0 - beta1),
          .beta2 = options.beta2,
          .one_minus_beta2 = static_cast<float>(1.0 - beta2),
          .step_size = static_cast<float>(static_cast<double>(options.learning_rate) /
                                          (1.0 - PowerOf(beta1, step))),
          .root_correction = static_cast<float>(std::sqrt(1.0 - PowerOf(beta2, step))),
          .epsilon = options.epsilon};
}

void AdamStep(const AdamFactors& f, std::span<const float> delta, float* m, float* v,
              std::span<float> update) {
  const float* d = delta.data();
  float* u = update.data();
  INTERLUDE_INDEPENDENT_LOOP
  for (size_t i = 0; i < delta.size(); ++i) {
    const float first = f.beta1 * m[i] + f.one_minus_beta1 * d[i];
    const float second = f.beta2 * v[i] + f.one_minus_beta2 * (d[i] * d[i]);
    const float divisor = std::sqrt(second) / f.root_correction + f.epsilon;
    m[i] = first;
    v[i] = second;
    u[i] = f.step_size * (first / divisor);
  }
}

}  // namespace

size_t OuterStatePerParam(OuterOptimizerType type) {
  switch (type) {
    case OuterOptimizerType::kSgd:
      return 0;
    case OuterOptimizerType::kNesterov:
      return 1;
    case OuterOptimizerType::kAdam:
      return 2;
  }
  return 0;
}

OuterState OuterState::Slice(size_t begin, size_t count) const {
  const auto part = [&](std::span<float> values) {
    return values.empty() ? values : values.subspan(begin, count);
  };
  return {.momentum = part(momentum), .second_moment = part(second_moment)};
}

OuterState ViewOuterState(OuterOptimizerType type, std::span<float> state) {
  const size_t per_param = OuterStatePerParam(type);
  INTERLUDE_CHECK(per_param == 0 ? state.empty() : state.size() % per_param == 0,
                  "{} values of outer state, {} a parameter", state.size(), per_param);
  if (per_param == 0) return {};
  const size_t count = state.size() / per_param;
  return {.momentum = state.first(count), .second_moment = state.subspan(count)};
}

void OuterStep(const OuterOptimizerOptions& options, uint64_t step, std::span<const float> delta,
               const OuterState& state, std::span<float> update) {
  const size_t n = delta.size();
  const size_t per_param = OuterStatePerParam(options.type);
  INTERLUDE_CHECK(update.size() == n, "{} deltas, {} updates", n, update.size());
  INTERLUDE_CHECK(state.momentum.size() == (per_param >= 1 ? n : 0) &&
                      state.second_moment.size() == (per_param >= 2 ? n : 0),
                  "outer state of {} and {} values for {} deltas", state.momentum.size(),
                  state.second_moment.size(), n);
  INTERLUDE_CHECK(step >= 1, "outer steps count from 1");
  switch (options.type) {
    case OuterOptimizerType::kSgd:
      return SgdStep(options.learning_rate, delta, update);
    case OuterOptimizerType::kNesterov:
      return NesterovStep(options.learning_rate, options.momentum, delta, state.momentum.data(),
                          update);
    case OuterOptimizerType::kAdam:
      return AdamStep(MakeAdamFactors(options, step), delta, state.momentum.data(),
                      state.second_moment.data(), update);
  }
}

void OuterStep(const OuterOptimizerOptions& options, uint64_t step, std::span<const float> delta,
               std::span<float> state, std::span<float> update) {
  OuterStep(options, step, delta, ViewOuterState(options.type, state), update);
}

}  // namespace interlude
