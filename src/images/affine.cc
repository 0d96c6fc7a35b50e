#include "images/affine.h"

#include <cmath>

namespace interlude {
namespace {

/// 1/256 of a pixel.
constexpr int kOne = 256;

const uint8_t* PixelOrNone(const PictureView& picture, int64_t x, int64_t y) {
  if (x < 0 || y < 0 || x >= picture.width || y >= picture.height) return nullptr;
  return picture.row(static_cast<uint32_t>(y)) + static_cast<size_t>(x) * picture.channels;
}

void Interpolate(const PictureView& picture, float x, float y, uint8_t* out) {
  const float left = std::floor(x), top = std::floor(y);
  const int right_share = static_cast<int>((x - left) * kOne + 0.5f);
  const int below_share = static_cast<int>((y - top) * kOne + 0.5f);
  const auto column = static_cast<int64_t>(left), line = static_cast<int64_t>(top);
  const uint8_t* const pixels[4] = {
      PixelOrNone(picture, column, line), PixelOrNone(picture, column + 1, line),
      PixelOrNone(picture, column, line + 1), PixelOrNone(picture, column + 1, line + 1)};
  const int weights[4] = {(kOne - right_share) * (kOne - below_share),
                          right_share * (kOne - below_share), (kOne - right_share) * below_share,
                          right_share * below_share};
  for (uint32_t c = 0; c < picture.channels; ++c) {
    int sum = kOne * kOne / 2;
    for (int i = 0; i < 4; ++i) sum += weights[i] * (pixels[i] ? pixels[i][c] : kOutside);
    out[c] = static_cast<uint8_t>(sum / (kOne * kOne));
  }
}

}  // namespace

void Warp(const PictureView& picture, const AffineMap& map, Picture& out) {
  out.Reshape(picture.width, picture.height, picture.channels);
  const float middle_x = static_cast<float>(picture.width - 1) * 0.5f;
  const float middle_y = static_cast<float>(picture.height - 1) * 0.5f;
  for (uint32_t row = 0; row < out.height; ++row) {
    uint8_t* to = out.row(row);
    const float y = static_cast<float>(row) - middle_y;
    for (uint32_t column = 0; column < out.width; ++column, to += out.channels) {
      const float x = static_cast<float>(column) - middle_x;
      Interpolate(picture, map.xx * x + map.xy * y + map.dx + middle_x,
                  map.yx * x + map.yy * y + map.dy + middle_y, to);
    }
  }
}

}  // namespace interlude
