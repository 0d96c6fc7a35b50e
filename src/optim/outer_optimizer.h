// Outer optimizers: how the merged delta becomes the update of the base. Arithmetic on spans, one
// chunk at a time, each operation rounded to fp32 on its own, the same bits on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace interlude {

enum class OuterOptimizerType : uint8_t { kSgd, kNesterov, kAdam };

struct OuterOptimizerOptions {
  OuterOptimizerType type = OuterOptimizerType::kNesterov;
  float learning_rate = 0.7f;
  float momentum = 0.7f;  // nesterov
  float beta1 = 0.9f;     // adam
  float beta2 = 0.95f;    // adam
  float epsilon = 1e-8f;  // adam
};

/// Values of state kept for each parameter: 0 (sgd), 1 (nesterov), 2 (adam). State starts at zero.
size_t OuterStatePerParam(OuterOptimizerType type);

/// The state of a range of n parameters: n values each, or none where the optimizer keeps none.
struct OuterState {
  std::span<float> momentum;       // nesterov's m; adam's first moments
  std::span<float> second_moment;  // adam

  /// The part for parameters [begin, begin + count) of the range.
  OuterState Slice(size_t begin, size_t count) const;
};

/// Views one block of memory of n * OuterStatePerParam floats as the state of n parameters: for
/// adam the n first moments, then the n second moments. Precondition: the size is right for some n.
OuterState ViewOuterState(OuterOptimizerType type, std::span<float> state);

/// Turns the merged delta of one range into the update to add to the base. `delta` and `update`
/// have the same length n and are the same memory or do not overlap; `state` is that of the range.
/// `step` counts rounds from 1 (adam's bias correction). A result depends on its own parameter's
/// values alone: pieces of a range, in any order and from any threads, give the bits of the whole.
/// NaN and Inf pass through.
///
/// The delta (worker parameters minus base) is minus an outer gradient, so the update adds. Each
/// operation is rounded to fp32 on its own, in the order written, with the constants rounded from
/// double first:
///   sgd       u = lr * d
///   nesterov  m = (mu * m) + d;  u = lr * (d + (mu * m))     (Sutskever et al. 2013, as in
///   PyTorch) adam      m = (b1 * m) + ((1 - b1) * d);  v = (b2 * v) + ((1 - b2) * (d * d)) (Kingma
///   & Ba 2015)
///             u = (lr / (1 - b1^step)) * (m / ((sqrt(v) / sqrt(1 - b2^step)) + eps))
void OuterStep(const OuterOptimizerOptions& options, uint64_t step, std::span<const float> delta,
               const OuterState& state, std::span<float> update);

/// The same with the range's state as one block of memory, as ViewOuterState reads it.
void OuterStep(const OuterOptimizerOptions& options, uint64_t step, std::span<const float> delta,
               std::span<float> state, std::span<float> update);

}  // namespace interlude
