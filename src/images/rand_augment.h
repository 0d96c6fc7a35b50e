// RandAugment (Cubuk et al. 2019): a few operations drawn from a list, all of one strength. Any
// thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/rng.h"
#include "images/picture.h"

namespace interlude {

/// The operations, each as likely as another.
enum class RandAugmentOp {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kSaturation,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
};
inline constexpr int kRandAugmentOps = 14;

/// `strength` from 0 (nothing is changed, but by AutoContrast and Equalize) to 1: shear by 0.3,
/// translate by 0.45 of the side, rotate by 30 degrees, colors by 0.9, posterize to 4 bits,
/// solarize from 0. `negative` turns the direction of those that have one. `scratch` is
/// overwritten.
void ApplyRandAugmentOp(RandAugmentOp op, float strength, bool negative, Picture& scratch,
                        Picture& picture);

/// `ops` operations one after the other, at magnitude / 10.
void RandAugment(uint32_t ops, double magnitude, Rng& rng, Picture& scratch, Picture& picture);

}  // namespace interlude
