// picture_bench SIDE FILE...: decodes every file with one thread to a shorter side of SIDE, then
// makes of each the floats that a model of SIDE * 7 / 8 pixels trains on, and prints one line of
// JSON: how many pictures, and the CPU time of the latter. tools/measure_images.py runs it beside
// vipsthumbnail.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

#include "base/thread_times.h"
#include "images/decode.h"
#include "images/transform.h"

namespace interlude {
namespace {

struct Figures {
  uint64_t pictures = 0;
  uint64_t pixels = 0;
  int64_t transform_ns = 0;
};

TransformOptions Training(uint32_t side) {
  TransformOptions options{.size = std::max(side * 7 / 8, 1u), .statistics = kImageNetStatistics};
  options.augment.random_crop = true;
  options.augment.flip = 0.5;
  return options;
}

StatusOr<Figures> Measure(uint32_t side, std::span<char* const> paths) {
  const Transform transform(Training(side));
  TransformScratch scratch;
  Picture picture;
  std::vector<float> floats(transform.elements());
  Figures figures;
  for (const char* path : paths) {
    INTERLUDE_RETURN_IF_ERROR(DecodePictureFile(path, {.side = side}, picture));
    const int64_t decoded = ReadThreadTimes().cpu_ns;
    transform.ForTraining(picture.view(), 0, figures.pictures, scratch, floats);
    figures.transform_ns += ReadThreadTimes().cpu_ns - decoded;
    figures.pixels += uint64_t{picture.width} * picture.height;
    ++figures.pictures;
  }
  return figures;
}

int Main(std::span<char* const> arguments) {
  uint32_t side = 0;
  const char* text = arguments.size() > 1 ? arguments[0] : "";
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), side);
  if (error != std::errc() || *end != '\0' || side == 0 || side > 65'536) {
    fmt::print(stderr, "usage: picture_bench SIDE FILE...\n");
    return 2;
  }
  const auto figures = Measure(side, arguments.subspan(1));
  if (!figures.ok()) {
    fmt::print(stderr, "picture_bench: {}\n", figures.status().ToString());
    return 1;
  }
  fmt::print("{{\"pictures\": {}, \"pixels\": {}, \"transform_ns\": {}}}\n", figures->pictures,
             figures->pixels, figures->transform_ns);
  return 0;
}

}  // namespace
}  // namespace interlude

int main(int argc, char** argv) {
  return interlude::Main(std::span<char* const>(argv + 1, static_cast<size_t>(argc) - 1));
}
