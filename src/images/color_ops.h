// Operations on a picture's colors, in place, after PIL's ImageEnhance and ImageOps. Gray pictures
// too, where it makes a difference for them. Integers or single roundings of floats: the same bits
// everywhere. Any thread.
#pragma once

#include "images/picture.h"

namespace interlude {

/// Each blends the picture with another one: 0 gives the other, 1 the picture, above 1 leads away.
/// The other is black; the mean gray; the gray picture; the blurred picture.
void ScaleBrightness(float factor, Picture& picture);
void ScaleContrast(float factor, Picture& picture);
void ScaleSaturation(float factor, Picture& picture);
void ScaleSharpness(float factor, Picture& picture);

/// Keeps the upper `bits` (1 to 8) of each value.
void Posterize(int bits, Picture& picture);
/// Turns values from `threshold` (0 to 256) on into 255 minus them.
void Solarize(int threshold, Picture& picture);
/// Stretches each color to 0...255.
void AutoContrast(Picture& picture);
/// Spreads each color's values evenly.
void Equalize(Picture& picture);

}  // namespace interlude
