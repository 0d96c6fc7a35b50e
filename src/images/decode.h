// Files of pictures to bytes, with libvips. What a file holds decides how it is read, not its name:
// JPEG, PNG, GIF (the first frame), WebP, TIFF (the first page). Any number of threads, each
// decoding one picture by itself: libvips starts none of its own for it and keeps no cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "images/picture.h"
#include "images/pictures.h"

namespace interlude {

/// Transparent pixels are laid over this.
inline constexpr uint8_t kBackground = 255;

/// A larger file is not read.
inline constexpr size_t kMostPictureFileBytes = size_t{1} << 30;

struct DecodeOptions {
  uint32_t channels = 3;  // of the result: 1 or 3
  /// The shorter side is scaled down to this where it is longer (a JPEG and a WebP already while it
  /// is decoded); 0: never.
  uint32_t side = 0;
  uint64_t most_pixels = 100'000'000;  // width times height, as stored
};

/// Decodes and turns upright by EXIF. 16 bits become 8 (the upper ones), CMYK becomes sRGB
/// (with the file's own profile), transparent pixels lie over kBackground; color profiles of RGB
/// files are not applied. The bytes follow from the file alone, for one version of the libraries.
/// Costs: the picture as stored (a JPEG: as scaled) in memory, 3 bytes a pixel, besides what
/// libvips needs.
///
/// DataLoss for anything that is damaged, cut short or not a picture; OutOfRange beyond
/// most_pixels; ResourceExhausted where libvips has no memory.
Status DecodePicture(std::span<const std::byte> file, const DecodeOptions& options, Picture& out);

/// The same for a path, and what ReadTextFile says where it cannot be read. The path begins the
/// message.
Status DecodePictureFile(const std::string& path, const DecodeOptions& options, Picture& out);

/// DecodePictureFile with these options, for Pictures (pictures.h).
DecodeFunction MakeDecoder(const DecodeOptions& options);

}  // namespace interlude
