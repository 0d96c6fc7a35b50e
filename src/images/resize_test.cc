#include "images/resize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "images/orientation.h"
#include "images/test_noise.h"

namespace interlude {
namespace {

/// The definition, pixel by pixel in double precision: a triangle of width 2 * max(scale, 1) around
/// each output pixel's center, cut at the box's edges.
double Expected(const PictureView& picture, const PictureBox& box, uint32_t width, uint32_t height,
                uint32_t x, uint32_t y, uint32_t channel) {
  const auto weight = [](uint32_t source, uint32_t out, uint32_t from, uint32_t to) {
    const double scale = static_cast<double>(from) / to;
    return std::max(0.0, 1 - std::abs(source + 0.5 - (out + 0.5) * scale) / std::max(scale, 1.0));
  };
  double sum = 0, weights = 0;
  for (uint32_t sy = 0; sy < box.height; ++sy) {
    for (uint32_t sx = 0; sx < box.width; ++sx) {
      const double w = weight(sx, x, box.width, width) * weight(sy, y, box.height, height);
      sum += w * picture.row(box.y + sy)[(box.x + sx) * picture.channels + channel];
      weights += w;
    }
  }
  return sum / weights;
}

TEST(Resize, IsTheTriangleFilterToWithinOneLevel) {
  Rng rng(3);
  ResizeScratch scratch;
  for (int i = 0; i < 60; ++i) {
    const uint32_t channels = i % 2 == 0 ? 3 : 1;
    const Picture picture = NoisePicture(1 + static_cast<uint32_t>(rng.Below(40)),
                                         1 + static_cast<uint32_t>(rng.Below(40)), channels, rng());
    PictureBox box;
    box.width = 1 + static_cast<uint32_t>(rng.Below(picture.width));
    box.height = 1 + static_cast<uint32_t>(rng.Below(picture.height));
    box.x = static_cast<uint32_t>(rng.Below(picture.width - box.width + 1));
    box.y = static_cast<uint32_t>(rng.Below(picture.height - box.height + 1));
    const auto width = static_cast<uint32_t>(1 + rng.Below(30));
    const auto height = static_cast<uint32_t>(1 + rng.Below(30));
    Picture out;
    Resize(picture.view(), box, width, height, scratch, out);
    for (uint32_t y = 0; y < height; ++y) {
      for (uint32_t x = 0; x < width; ++x) {
        for (uint32_t c = 0; c < channels; ++c) {
          ASSERT_NEAR(out.row(y)[x * channels + c],
                      Expected(picture.view(), box, width, height, x, y, c), 1.0)
              << box.width << "x" << box.height << " to " << width << "x" << height;
        }
      }
    }
  }
}

TEST(Resize, CopiesWhereNothingIsScaled) {
  const Picture picture = NoisePicture(9, 7, 3, 1);
  ResizeScratch scratch;
  Picture out;
  Resize(picture.view(), {2, 1, 5, 4}, 5, 4, scratch, out);
  for (uint32_t y = 0; y < 4; ++y) {
    EXPECT_TRUE(std::equal(out.row(y), out.row(y) + 15, picture.view().row(y + 1) + 6));
  }
}

TEST(Resize, KeepsAPlainColor) {
  Picture picture;
  picture.Reshape(37, 23, 3);
  for (size_t i = 0; i < picture.bytes.size(); ++i)
    picture.bytes[i] = i % 3 == 0 ? 255 : i % 3 == 1;
  ResizeScratch scratch;
  Picture out;
  for (const auto& [width, height] : {std::pair{1u, 1u}, {224u, 3u}, {11u, 100u}}) {
    Resize(picture.view(), WholeBox(picture.view()), width, height, scratch, out);
    for (size_t i = 0; i < out.bytes.size(); ++i) {
      ASSERT_EQ(out.bytes[i], picture.bytes[i % 3]) << width << " " << i;
    }
  }
}

TEST(TriangleTaps, SumToOneAndLieInside) {
  for (const auto& [from, to] :
       {std::pair{1u, 1u}, {1u, 50u}, {3u, 2u}, {500u, 224u}, {224u, 225u}, {20'000u, 1u}}) {
    const FilterTaps taps = TriangleTaps(from, to);
    for (uint32_t i = 0; i < to; ++i) {
      EXPECT_LE(taps.first[i] + taps.count, from);
      const auto begin = taps.weights.begin() + i * taps.count;
      EXPECT_EQ(std::accumulate(begin, begin + taps.count, 0), 1 << 14) << from << " " << to;
      for (uint32_t k = 0; k < taps.count; ++k) EXPECT_GE(begin[k], 0);
    }
  }
}

TEST(TurnUpright, UndoesWhatExifSays) {
  // 3 x 2 pixels, numbered as they should be seen; `stored` as a camera stores them.
  const std::vector<uint8_t> seen = {1, 2, 3, 4, 5, 6};
  const std::vector<std::pair<uint32_t, std::vector<uint8_t>>> stored = {
      {3, {1, 2, 3, 4, 5, 6}}, {3, {3, 2, 1, 6, 5, 4}}, {3, {6, 5, 4, 3, 2, 1}},
      {3, {4, 5, 6, 1, 2, 3}}, {2, {1, 4, 2, 5, 3, 6}}, {2, {3, 6, 2, 5, 1, 4}},
      {2, {6, 3, 5, 2, 4, 1}}, {2, {4, 1, 5, 2, 6, 3}}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const auto& [width, bytes] = stored[static_cast<size_t>(orientation - 1)];
    Picture picture{.width = width, .height = 6 / width, .channels = 1, .bytes = bytes};
    TurnUpright(orientation, picture);
    EXPECT_EQ(picture.width, 3u) << orientation;
    EXPECT_EQ(picture.bytes, seen) << orientation;
  }
}

TEST(SetChannels, MakesGrayOfColorsAndBack) {
  Picture picture{.width = 2, .height = 1, .channels = 3, .bytes = {255, 0, 0, 10, 20, 30}};
  SetChannels(1, picture);
  EXPECT_EQ(picture.bytes, (std::vector<uint8_t>{76, 18}));
  SetChannels(3, picture);
  EXPECT_EQ(picture.bytes, (std::vector<uint8_t>{76, 76, 76, 18, 18, 18}));
}

}  // namespace
}  // namespace interlude
