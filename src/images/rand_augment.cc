#include "images/rand_augment.h"

#include <cmath>
#include <numbers>

#include "images/affine.h"
#include "images/color_ops.h"

namespace interlude {
namespace {

AffineMap MapOf(RandAugmentOp op, float amount, const Picture& picture) {
  AffineMap map;
  if (op == RandAugmentOp::kShearX) map.xy = 0.3f * amount;
  if (op == RandAugmentOp::kShearY) map.yx = 0.3f * amount;
  if (op == RandAugmentOp::kTranslateX) map.dx = 0.45f * amount * static_cast<float>(picture.width);
  if (op == RandAugmentOp::kTranslateY) {
    map.dy = 0.45f * amount * static_cast<float>(picture.height);
  }
  if (op == RandAugmentOp::kRotate) {
    const float angle = amount * std::numbers::pi_v<float> / 6;
    map.xx = map.yy = std::cos(angle);
    map.xy = -std::sin(angle);
    map.yx = std::sin(angle);
  }
  return map;
}

}  // namespace

void ApplyRandAugmentOp(RandAugmentOp op, float strength, bool negative, Picture& scratch,
                        Picture& picture) {
  const float amount = negative ? -strength : strength;
  const float factor = 1 + 0.9f * amount;
  switch (op) {
    case RandAugmentOp::kIdentity:
      return;
    case RandAugmentOp::kShearX:
    case RandAugmentOp::kShearY:
    case RandAugmentOp::kTranslateX:
    case RandAugmentOp::kTranslateY:
    case RandAugmentOp::kRotate:
      Warp(picture.view(), MapOf(op, amount, picture), scratch);
      std::swap(scratch, picture);
      return;
    case RandAugmentOp::kBrightness:
      return ScaleBrightness(factor, picture);
    case RandAugmentOp::kSaturation:
      return ScaleSaturation(factor, picture);
    case RandAugmentOp::kContrast:
      return ScaleContrast(factor, picture);
    case RandAugmentOp::kSharpness:
      return ScaleSharpness(factor, picture);
    case RandAugmentOp::kPosterize:
      return Posterize(8 - static_cast<int>(4 * strength + 0.5f), picture);
    case RandAugmentOp::kSolarize:
      return Solarize(256 - static_cast<int>(256 * strength + 0.5f), picture);
    case RandAugmentOp::kAutoContrast:
      return AutoContrast(picture);
    case RandAugmentOp::kEqualize:
      return Equalize(picture);
  }
}

void RandAugment(uint32_t ops, double magnitude, Rng& rng, Picture& scratch, Picture& picture) {
  const auto strength = static_cast<float>(magnitude / 10);
  for (uint32_t i = 0; i < ops; ++i) {
    const auto op = static_cast<RandAugmentOp>(rng.Below(kRandAugmentOps));
    const bool negative = rng.Below(2) == 1;
    ApplyRandAugmentOp(op, strength, negative, scratch, picture);
  }
}

}  // namespace interlude
