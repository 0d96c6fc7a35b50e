// Pictures of random pixels, for tests.
#pragma once

#include "base/rng.h"
#include "images/picture.h"

namespace interlude {

/// The same ones for the same arguments.
inline Picture NoisePicture(uint32_t width, uint32_t height, uint32_t channels, uint64_t seed) {
  Picture picture;
  picture.Reshape(width, height, channels);
  Rng rng(seed);
  for (uint8_t& byte : picture.bytes) byte = static_cast<uint8_t>(rng.Below(256));
  return picture;
}

}  // namespace interlude
