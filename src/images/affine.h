// Shears, shifts and turns a picture around its middle. Any thread.
#pragma once

#include "images/picture.h"

namespace interlude {

/// Where the pixel of the result at (x, y) from the middle lies in the picture, from its middle:
/// (xx * x + xy * y + dx, yx * x + yy * y + dy).
struct AffineMap {
  float xx = 1, xy = 0, dx = 0;
  float yx = 0, yy = 1, dy = 0;
};

/// The color that comes in from outside.
inline constexpr uint8_t kOutside = 128;

/// Interpolates between the four nearest pixels. `out` is not `picture`.
void Warp(const PictureView& picture, const AffineMap& map, Picture& out);

}  // namespace interlude
