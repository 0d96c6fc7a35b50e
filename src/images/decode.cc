#include "images/decode.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "images/orientation.h"
#include "images/resize.h"
#include "images/text_file.h"
#include "images/vips_image.h"

namespace interlude {
namespace {

enum class Format { kJpeg, kPng, kGif, kWebp, kTiff };

using Bytes = std::span<const std::byte>;

StatusOr<Format> FormatOf(Bytes file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.starts_with("\xFF\xD8\xFF")) return Format::kJpeg;
  if (text.starts_with("\x89PNG\r\n\x1A\n")) return Format::kPng;
  if (text.starts_with("GIF87a") || text.starts_with("GIF89a")) return Format::kGif;
  if (text.starts_with("RIFF") && text.substr(std::min<size_t>(8, text.size())).starts_with("WEBP"))
    return Format::kWebp;
  if (text.starts_with(std::string_view("II*\0", 4)) ||
      text.starts_with(std::string_view("MM\0*", 4)))
    return Format::kTiff;
  if (text.empty()) return DataLossError("an empty file");
  return DataLossError("not a JPEG, PNG, GIF, WebP or TIFF file");
}

/// `shrink`: by how much the picture is scaled down while it is decoded.
bool Load(Bytes file, Format format, double shrink, VipsImagePtr& image) {
  void* const data = const_cast<std::byte*>(file.data());  // libvips does not write to it
  const size_t size = file.size();
  VipsImage* out = nullptr;
  constexpr auto kAccess = VIPS_ACCESS_SEQUENTIAL;
  // Half a picture is an error; what decoders merely warn of, such as bytes after the end, is not.
  constexpr auto kFailOn = VIPS_FAIL_ON_ERROR;
  int failed = 0;
  switch (format) {
    case Format::kJpeg:
      failed = vips_jpegload_buffer(data, size, &out, "access", kAccess, "fail_on", kFailOn,
                                    "shrink", static_cast<int>(shrink), nullptr);
      break;
    case Format::kPng:
      failed =
          vips_pngload_buffer(data, size, &out, "access", kAccess, "fail_on", kFailOn, nullptr);
      break;
    case Format::kGif:
      failed =
          vips_gifload_buffer(data, size, &out, "access", kAccess, "fail_on", kFailOn, nullptr);
      break;
    case Format::kWebp:
      failed = vips_webpload_buffer(data, size, &out, "access", kAccess, "fail_on", kFailOn,
                                    "scale", 1 / shrink, nullptr);
      break;
    case Format::kTiff:
      failed =
          vips_tiffload_buffer(data, size, &out, "access", kAccess, "fail_on", kFailOn, nullptr);
      break;
  }
  image.reset(out);
  return failed == 0;
}

/// How far the decoder itself may scale down so that the shorter side stays at least `side`.
double ShrinkOf(Format format, uint32_t shorter, uint32_t side) {
  if (side == 0 || shorter <= side) return 1;
  if (format == Format::kWebp) return static_cast<double>(shorter) / side;
  if (format != Format::kJpeg) return 1;
  for (const uint32_t shrink : {8u, 4u, 2u}) {
    if (shorter / shrink >= side) return shrink;
  }
  return 1;
}

bool IsWide(const VipsImage* image) { return image->BandFmt == VIPS_FORMAT_USHORT; }

/// Lays transparent pixels over the background.
bool Flatten(VipsImagePtr& image) {
  if (!vips_image_hasalpha(image.get())) return true;
  const bool inks = image->Type == VIPS_INTERPRETATION_CMYK;
  const double level = inks                  ? 255 - kBackground
                       : IsWide(image.get()) ? kBackground * 257
                                             : kBackground;
  const double top = IsWide(image.get()) ? 65535 : 255;
  return Replace(image, [&](VipsImage* in, VipsImage** out) {
    VipsArrayDouble* background = vips_array_double_newv(1, level);
    const int failed = vips_flatten(in, out, "background", background, "max_alpha", top, nullptr);
    vips_area_unref(VIPS_AREA(background));
    return failed;
  });
}

/// To one or three bands of 8 bits, gray or sRGB.
bool ToBytes(VipsImagePtr& image) {
  const VipsBandFormat format = image->BandFmt;
  if ((format != VIPS_FORMAT_UCHAR && format != VIPS_FORMAT_USHORT) ||
      image->Coding != VIPS_CODING_NONE) {
    vips_error("interlude", "pixels of kind %s; 8 and 16 bits are read",
               vips_enum_nick(VIPS_TYPE_BAND_FORMAT, format));
    return false;
  }
  if (!Flatten(image)) return false;
  const VipsInterpretation type = vips_image_guess_interpretation(image.get());
  const bool plain = type == VIPS_INTERPRETATION_sRGB || type == VIPS_INTERPRETATION_RGB ||
                     type == VIPS_INTERPRETATION_B_W || type == VIPS_INTERPRETATION_RGB16 ||
                     type == VIPS_INTERPRETATION_GREY16 || type == VIPS_INTERPRETATION_MULTIBAND;
  if (!plain && !Replace(image, [](VipsImage* in, VipsImage** out) {
        return vips_colourspace(in, out, VIPS_INTERPRETATION_sRGB, nullptr);
      })) {
    return false;
  }
  if (IsWide(image.get()) &&
      !Replace(image, [](VipsImage* in, VipsImage** out) { return vips_msb(in, out, nullptr); })) {
    return false;
  }
  const int bands = image->Bands >= 3 ? 3 : 1;
  if (image->Bands != bands && !Replace(image, [bands](VipsImage* in, VipsImage** out) {
        return vips_extract_band(in, out, 0, "n", bands, nullptr);
      })) {
    return false;
  }
  return true;
}

/// Computes the pixels, in this thread, from top to bottom.
bool CopyPixels(VipsImage* image, Picture& out) {
  constexpr int kRows = 64;
  const VipsRegionPtr region(vips_region_new(image));
  if (region == nullptr) return false;
  out.Reshape(static_cast<uint32_t>(image->Xsize), static_cast<uint32_t>(image->Ysize),
              static_cast<uint32_t>(image->Bands));
  for (int top = 0; top < image->Ysize; top += kRows) {
    const VipsRect rect{0, top, image->Xsize, std::min(kRows, image->Ysize - top)};
    if (vips_region_prepare(region.get(), &rect) != 0) return false;
    for (int y = top; y < top + rect.height; ++y) {
      std::memcpy(out.row(static_cast<uint32_t>(y)), VIPS_REGION_ADDR(region.get(), 0, y),
                  out.row_bytes());
    }
  }
  return true;
}

/// Size as stored, and how it is turned.
struct Header {
  uint32_t width = 0;
  uint32_t height = 0;
  int orientation = 1;
};

void ScaleTo(uint32_t side, Picture& picture) {
  const uint32_t shorter = std::min(picture.width, picture.height);
  if (side == 0 || shorter <= side) return;
  const auto scaled = [&](uint32_t length) {
    return static_cast<uint32_t>((uint64_t{length} * side + shorter / 2) / shorter);
  };
  ResizeScratch scratch;
  Picture small;
  Resize(picture.view(), WholeBox(picture.view()), scaled(picture.width), scaled(picture.height),
         scratch, small);
  picture = std::move(small);
}

StatusOr<Header> DecodePixels(Bytes file, Format format, const DecodeOptions& options,
                              Picture& out) {
  Header header;
  bool too_large = false;
  const auto body = [&] {
    VipsImagePtr image;
    if (!Load(file, format, 1, image)) return false;
    header = {static_cast<uint32_t>(image->Xsize), static_cast<uint32_t>(image->Ysize),
              vips_image_get_orientation(image.get())};
    too_large = uint64_t{header.width} * header.height > options.most_pixels;
    if (too_large) return true;
    const double shrink = ShrinkOf(format, std::min(header.width, header.height), options.side);
    if (shrink > 1 && !Load(file, format, shrink, image)) return false;
    return ToBytes(image) && CopyPixels(image.get(), out);
  };
  INTERLUDE_RETURN_IF_ERROR(WithVips(body));
  if (too_large) {
    return OutOfRangeError("{} x {} pixels, more than the limit of {} (data.max_megapixels)",
                           header.width, header.height, options.most_pixels);
  }
  return header;
}

}  // namespace

Status DecodePicture(Bytes file, const DecodeOptions& options, Picture& out) {
  INTERLUDE_ASSIGN_OR_RETURN(const Format format, FormatOf(file));
  INTERLUDE_ASSIGN_OR_RETURN(const Header header, DecodePixels(file, format, options, out));
  ScaleTo(options.side, out);
  SetChannels(options.channels, out);
  TurnUpright(header.orientation, out);
  return OkStatus();
}

Status DecodePictureFile(const std::string& path, const DecodeOptions& options, Picture& out) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::string file, ReadTextFile(path, kMostPictureFileBytes));
  return DecodePicture(std::as_bytes(std::span(file)), options, out).WithContext(path);
}

DecodeFunction MakeDecoder(const DecodeOptions& options) {
  return [options](const std::string& path, Picture& out) {
    return DecodePictureFile(path, options, out);
  };
}

}  // namespace interlude
