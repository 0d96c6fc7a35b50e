// Picture files of all kinds, made with libvips, for tests.
#pragma once

#include <string>

namespace interlude {

enum class PictureKind { kColor, kGray, kAlpha, kWide, kWideAlpha, kCmyk, kFloat };

/// A file of `width` x `height` pixels in the format of `suffix` (".jpg[Q=95]", ".png[palette]"; a
/// libvips save string). Its left half is (200, 40, 40), its right half (40, 40, 200); gray ones
/// have their luma. kAlpha's lower half is fully transparent. `orientation`: what EXIF says; 0 for
/// none.
std::string PictureFile(PictureKind kind, int width, int height, const std::string& suffix,
                        int orientation = 0);

}  // namespace interlude
