#include "images/orientation.h"

#include <algorithm>
#include <cstring>

namespace interlude {
namespace {

uint8_t Gray(const uint8_t* pixel) {
  return static_cast<uint8_t>((299 * pixel[0] + 587 * pixel[1] + 114 * pixel[2] + 500) / 1000);
}

}  // namespace

void TurnUpright(int orientation, Picture& picture) {
  if (orientation < 2 || orientation > 8) return;
  const bool swaps = orientation >= 5;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_below =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Picture upright;
  upright.Reshape(swaps ? picture.height : picture.width, swaps ? picture.width : picture.height,
                  picture.channels);
  const size_t channels = picture.channels;
  for (uint32_t y = 0; y < upright.height; ++y) {
    uint8_t* out = upright.row(y);
    for (uint32_t x = 0; x < upright.width; ++x, out += channels) {
      const uint32_t column = swaps ? y : x, line = swaps ? x : y;
      const uint32_t from_x = from_right ? picture.width - 1 - column : column;
      const uint32_t from_y = from_below ? picture.height - 1 - line : line;
      std::memcpy(out, picture.row(from_y) + from_x * channels, channels);
    }
  }
  picture = std::move(upright);
}

void SetChannels(uint32_t channels, Picture& picture) {
  if (channels == picture.channels) return;
  Picture changed;
  changed.Reshape(picture.width, picture.height, channels);
  const size_t pixels = size_t{picture.width} * picture.height;
  for (size_t i = 0; i < pixels; ++i) {
    if (channels == 1) {
      changed.bytes[i] = Gray(&picture.bytes[3 * i]);
    } else {
      std::fill_n(&changed.bytes[3 * i], 3, picture.bytes[i]);
    }
  }
  picture = std::move(changed);
}

}  // namespace interlude
