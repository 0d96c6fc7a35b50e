// Outer optimizers: how the merged delta becomes the update of the base. Arithmetic on spans, one chunk at a
// time, each operation rounded to fp32 on its own, the same bits on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace interlude {

enum class OuterOptimizerType : uint8_t { kSgd, kNesterov, kAdam };

struct OuterOptimizerOptions {
  OuterOptimizerType type = OuterOptimizerType::kNesterov;
  float learning_rate = 0.7f;
  float momentum = 0.9f;  // nesterov
  float beta1 = 0.9f;     // adam
  float beta2 = 0.95f;    // adam
  float epsilon = 1e-8f;  // adam
};

/// Values of state kept for each parameter: 0 (sgd), 1 (nesterov), 2 (adam). State starts at zero.
size_t OuterStatePerParam(OuterOptimizerType type);

/// Turns the merged delta of one range into the update to add to the base. `delta` and `update` have the
/// same length n (and may be the same memory); `state` has n * OuterStatePerParam floats: for adam the n
/// first moments, then the n second moments. `step` counts rounds from 1 (adam's bias correction).
///
/// The delta (worker parameters minus base) is minus an outer gradient, so the update adds:
///   sgd       u = lr * d
///   nesterov  m = mu * m + d;  u = lr * (d + mu * m)      (Sutskever et al. 2013, as in PyTorch)
///   adam      Kingma & Ba 2015, bias-corrected, on d
void OuterStep(const OuterOptimizerOptions& options, uint64_t step, std::span<const float> delta,
               std::span<float> state, std::span<float> update);

}  // namespace interlude
