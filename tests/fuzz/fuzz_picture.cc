// Files of pictures. The decoders themselves are libraries; what is looked for here is how their
// results are taken.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "images/decode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  interlude::Picture picture;
  const interlude::DecodeOptions options{.channels = size % 2 == 0 ? 3u : 1u,
                                         .side = static_cast<uint32_t>(size % 3 * 8),
                                         .most_pixels = 100'000};
  const auto status =
      interlude::DecodePicture(std::as_bytes(std::span(data, size)), options, picture);
  if (!status.ok()) return 0;
  INTERLUDE_CHECK(picture.channels == options.channels && picture.width > 0 && picture.height > 0 &&
                      picture.bytes.size() == picture.view().size(),
                  "{} bytes for {} x {} x {}", picture.bytes.size(), picture.width, picture.height,
                  picture.channels);
  return 0;
}
