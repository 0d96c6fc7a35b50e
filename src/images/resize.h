// Scales a part of a picture with a triangle filter that widens when it scales down (bilinear with
// antialiasing, as PIL and torchvision). Integers only, so that every machine computes the same
// bits. Any thread, one scratch each.
#pragma once

#include <cstdint>
#include <vector>

#include "images/picture.h"

namespace interlude {

/// A part of a picture, in pixels; not empty and inside of it.
struct PictureBox {
  uint32_t x = 0;
  uint32_t y = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  friend bool operator==(const PictureBox&, const PictureBox&) = default;
};

inline PictureBox WholeBox(const PictureView& picture) {
  return {0, 0, picture.width, picture.height};
}

/// The taps of each output position: sources first[i]...first[i] + count - 1, weights in 1/2^14
/// that sum to 2^14.
struct FilterTaps {
  uint32_t count = 0;
  std::vector<uint32_t> first;
  std::vector<int16_t> weights;  // count for each position; zeros fill up
};

/// For `from` positions scaled to `to`.
FilterTaps TriangleTaps(uint32_t from, uint32_t to);

/// Memory that Resize reuses.
struct ResizeScratch {
  std::vector<int32_t> sums;
  std::vector<int16_t> row;
};

/// `box` of `picture`, scaled to width x height, into `out`. What lies outside the box has no
/// influence. Exact where nothing is scaled and where all pixels are the same.
void Resize(const PictureView& picture, const PictureBox& box, uint32_t width, uint32_t height,
            ResizeScratch& scratch, Picture& out);

}  // namespace interlude
