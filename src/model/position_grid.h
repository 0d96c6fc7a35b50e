// Position embeddings for another number of patches. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>

namespace interlude {

/// Resizes a square grid of vectors ([from_side, from_side, width] to [to_side, to_side, width]) as
/// torch.nn.functional.interpolate(mode="bicubic", align_corners=False, antialias=False) does:
/// cubic convolution with a = -0.75, the border's vectors repeated outside. Sides of at least 1.
void ResizeGrid(std::span<const float> from, size_t from_side, std::span<float> to, size_t to_side,
                size_t width);

}  // namespace interlude
