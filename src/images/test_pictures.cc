#include "images/test_pictures.h"

#include <vips/vips.h>

#include <memory>
#include <vector>

#include "base/check.h"
#include "images/vips_image.h"

namespace interlude {
namespace {

bool IsWideKind(PictureKind kind) {
  return kind == PictureKind::kWide || kind == PictureKind::kWideAlpha;
}

std::vector<uint8_t> Pixels(PictureKind kind, int width, int height) {
  const bool alpha = kind == PictureKind::kAlpha || kind == PictureKind::kWideAlpha;
  std::vector<uint8_t> bytes;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const bool left = x < width / 2;
      if (kind == PictureKind::kGray) {
        bytes.push_back(left ? 88 : 58);
      } else {
        bytes.push_back(left ? 200 : 40);
        bytes.push_back(40);
        bytes.push_back(left ? 40 : 200);
      }
      if (alpha) bytes.push_back(y < height / 2 ? 255 : 0);
    }
  }
  return bytes;
}

void Must(bool done) { INTERLUDE_CHECK(done, "{}", vips_error_buffer()); }

/// What the kind asks for, of an 8-bit picture.
void Convert(PictureKind kind, VipsImagePtr& image) {
  if (IsWideKind(kind)) {
    // 8 bits to 16 as 255 becomes 65535.
    Must(Replace(image, [](VipsImage* in, VipsImage** out) {
      return vips_linear1(in, out, 257, 0, nullptr);
    }));
    Must(Replace(image, [](VipsImage* in, VipsImage** out) {
      return vips_cast(in, out, VIPS_FORMAT_USHORT, nullptr);
    }));
  }
  if (kind == PictureKind::kFloat) {
    Must(Replace(image, [](VipsImage* in, VipsImage** out) {
      return vips_cast(in, out, VIPS_FORMAT_FLOAT, nullptr);
    }));
  }
  const auto type = kind == PictureKind::kGray ? VIPS_INTERPRETATION_B_W
                    : IsWideKind(kind)         ? VIPS_INTERPRETATION_RGB16
                                               : VIPS_INTERPRETATION_sRGB;
  Must(Replace(image, [type](VipsImage* in, VipsImage** out) {
    return vips_copy(in, out, "interpretation", type, nullptr);
  }));
  if (kind == PictureKind::kCmyk) {
    Must(Replace(image, [](VipsImage* in, VipsImage** out) {
      return vips_colourspace(in, out, VIPS_INTERPRETATION_CMYK, nullptr);
    }));
  }
}

}  // namespace

std::string PictureFile(PictureKind kind, int width, int height, const std::string& suffix,
                        int orientation) {
  Must(VIPS_INIT("test") == 0);
  const std::vector<uint8_t> pixels = Pixels(kind, width, height);
  const int bands = static_cast<int>(pixels.size()) / (width * height);
  VipsImagePtr image(vips_image_new_from_memory_copy(pixels.data(), pixels.size(), width, height,
                                                     bands, VIPS_FORMAT_UCHAR));
  Must(image != nullptr);
  Convert(kind, image);
  if (orientation != 0) vips_image_set_int(image.get(), VIPS_META_ORIENTATION, orientation);
  void* data = nullptr;
  size_t size = 0;
  Must(vips_image_write_to_buffer(image.get(), suffix.c_str(), &data, &size, nullptr) == 0);
  std::string file(static_cast<const char*>(data), size);
  g_free(data);
  return file;
}

}  // namespace interlude
