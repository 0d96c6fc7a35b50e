// Pictures as bytes, in the one layout that this module passes around. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace interlude {

/// height * width * channels bytes, row by row, the channels of a pixel side by side; 1 channel is
/// gray, 3 are red, green, blue (sRGB). Owned by somebody else.
struct PictureView {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t channels = 0;
  const uint8_t* data = nullptr;

  size_t row_bytes() const { return size_t{width} * channels; }
  size_t size() const { return row_bytes() * height; }
  const uint8_t* row(uint32_t y) const { return data + y * row_bytes(); }
  std::span<const uint8_t> bytes() const { return {data, size()}; }
};

/// As PictureView, with its bytes.
struct Picture {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t channels = 0;
  std::vector<uint8_t> bytes;

  PictureView view() const { return {width, height, channels, bytes.data()}; }
  size_t row_bytes() const { return size_t{width} * channels; }
  uint8_t* row(uint32_t y) { return bytes.data() + y * row_bytes(); }
  /// Keeps the memory it has; the bytes are anything.
  void Reshape(uint32_t new_width, uint32_t new_height, uint32_t new_channels) {
    width = new_width;
    height = new_height;
    channels = new_channels;
    bytes.resize(row_bytes() * height);
  }
};

}  // namespace interlude
