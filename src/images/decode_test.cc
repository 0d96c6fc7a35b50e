#include "images/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/rng.h"
#include "images/test_folder.h"
#include "images/test_pictures.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;

Status Decode(const std::string& file, const DecodeOptions& options, Picture& out) {
  return DecodePicture(std::as_bytes(std::span(file)), options, out);
}

void ExpectPixel(const Picture& picture, uint32_t x, uint32_t y, std::vector<int> colors,
                 int tolerance) {
  for (size_t c = 0; c < colors.size(); ++c) {
    const int value = picture.view().row(y)[x * picture.channels + c];
    EXPECT_NEAR(value, colors[c], tolerance) << x << ", " << y << ", color " << c;
  }
}

struct Case {
  const char* name;
  PictureKind kind;
  const char* suffix;
  int tolerance;
};

class DecodeTest : public ::testing::TestWithParam<Case> {};

TEST_P(DecodeTest, GivesTheColorsOfTheFile) {
  const Case& param = GetParam();
  const std::string file = PictureFile(param.kind, 40, 24, param.suffix);
  Picture picture;
  const Status status = Decode(file, {}, picture);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_EQ(picture.width, 40u);
  ASSERT_EQ(picture.height, 24u);
  ASSERT_EQ(picture.channels, 3u);
  const bool gray = param.kind == PictureKind::kGray;
  ExpectPixel(picture, 5, 3, gray ? std::vector{88, 88, 88} : std::vector{200, 40, 40},
              param.tolerance);
  ExpectPixel(picture, 35, 3, gray ? std::vector{58, 58, 58} : std::vector{40, 40, 200},
              param.tolerance);
  if (param.kind == PictureKind::kAlpha || param.kind == PictureKind::kWideAlpha) {
    ExpectPixel(picture, 5, 20, {kBackground, kBackground, kBackground}, param.tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, DecodeTest,
    // The blue of the right half is beyond what CMYK can print.
    ::testing::Values(Case{"Jpeg", PictureKind::kColor, ".jpg[Q=95]", 6},
                      Case{"ProgressiveJpeg", PictureKind::kColor, ".jpg[Q=95,interlace]", 6},
                      Case{"GrayJpeg", PictureKind::kGray, ".jpg[Q=95]", 4},
                      Case{"CmykJpeg", PictureKind::kCmyk, ".jpg[Q=95]", 70},
                      Case{"Png", PictureKind::kColor, ".png", 0},
                      Case{"InterlacedPng", PictureKind::kColor, ".png[interlace]", 0},
                      Case{"GrayPng", PictureKind::kGray, ".png", 0},
                      Case{"AlphaPng", PictureKind::kAlpha, ".png", 0},
                      Case{"PalettePng", PictureKind::kColor, ".png[palette]", 8},
                      Case{"PaletteAlphaPng", PictureKind::kAlpha, ".png[palette]", 8},
                      Case{"WidePng", PictureKind::kWide, ".png", 0},
                      Case{"WideAlphaPng", PictureKind::kWideAlpha, ".png", 0},
                      Case{"Gif", PictureKind::kColor, ".gif", 8},
                      Case{"AlphaGif", PictureKind::kAlpha, ".gif", 8},
                      Case{"Webp", PictureKind::kColor, ".webp[Q=95]", 12},
                      Case{"AlphaWebp", PictureKind::kAlpha, ".webp[lossless]", 0},
                      Case{"Tiff", PictureKind::kColor, ".tif", 0},
                      Case{"WideTiff", PictureKind::kWide, ".tif[tile]", 0},
                      Case{"CmykTiff", PictureKind::kCmyk, ".tif", 70}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(DecodePicture, ScalesTheShorterSideDownAndNeverUp) {
  for (const char* suffix : {".jpg", ".png", ".webp"}) {
    const std::string file = PictureFile(PictureKind::kColor, 900, 301, suffix);
    Picture picture;
    for (const uint32_t side : {300u, 150u, 64u, 37u, 1u}) {
      ASSERT_TRUE(Decode(file, {.side = side}, picture).ok());
      EXPECT_EQ(picture.height, side) << suffix;
      EXPECT_NEAR(picture.width, side * 900 / 301, 2) << suffix;
      ExpectPixel(picture, picture.width / 8, side / 2, {200, 40, 40}, 14);
    }
    ASSERT_TRUE(Decode(file, {.side = 400}, picture).ok());
    EXPECT_EQ(picture.height, 301u) << suffix;
  }
}

TEST(DecodePicture, TurnsUprightByExif) {
  for (const char* suffix : {".jpg[Q=95]", ".tif", ".webp[Q=95]"}) {
    Picture picture;
    // Stored on its side: what is left in the file is above.
    ASSERT_TRUE(
        Decode(PictureFile(PictureKind::kColor, 64, 32, suffix, 6), {.side = 16}, picture).ok());
    EXPECT_EQ(picture.width, 16u) << suffix;
    EXPECT_EQ(picture.height, 32u) << suffix;
    ExpectPixel(picture, 8, 4, {200, 40, 40}, 12);
    ExpectPixel(picture, 8, 28, {40, 40, 200}, 12);
  }
}

TEST(DecodePicture, GivesGrayWhereOneChannelIsAskedFor) {
  Picture picture;
  ASSERT_TRUE(
      Decode(PictureFile(PictureKind::kColor, 20, 20, ".png"), {.channels = 1}, picture).ok());
  EXPECT_EQ(picture.channels, 1u);
  ExpectPixel(picture, 2, 2, {88}, 0);
}

TEST(DecodePicture, RefusesAPictureOfTooManyPixels) {
  Picture picture;
  for (const char* suffix : {".png", ".jpg"}) {
    const Status status = Decode(PictureFile(PictureKind::kGray, 200, 101, suffix),
                                 {.side = 10, .most_pixels = 20'000}, picture);
    EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
    EXPECT_THAT(status.message(), HasSubstr("200 x 101 pixels"));
  }
}

TEST(DecodePicture, RefusesWhatIsNoPictureOrNotOf8Or16Bits) {
  Picture picture;
  for (const char* text : {"", "x", "a text", "<svg xmlns='http://www.w3.org/2000/svg'/>",
                           "\xFF\xD8\xFF", "GIF89a", "RIFFxxxxWEBP", "II*"}) {
    EXPECT_EQ(Decode(text, {}, picture).code(), StatusCode::kDataLoss) << text;
  }
  const Status status = Decode(PictureFile(PictureKind::kFloat, 8, 8, ".tif"), {}, picture);
  EXPECT_THAT(status.message(), HasSubstr("8 and 16 bits are read"));
}

TEST(DecodePicture, RefusesAFileThatIsCutShort) {
  Picture picture;
  for (const char* suffix : {".jpg", ".jpg[interlace]", ".png", ".webp", ".tif", ".gif"}) {
    const std::string whole = PictureFile(PictureKind::kColor, 80, 60, suffix);
    // The last bytes are an end mark that decoders can do without.
    for (size_t size = 0; size + 16 < whole.size(); size += 1 + whole.size() / 40) {
      EXPECT_EQ(Decode(whole.substr(0, size), {}, picture).code(), StatusCode::kDataLoss)
          << suffix << " cut to " << size << " of " << whole.size();
    }
  }
}

TEST(DecodePicture, NeverCrashesOnFlippedBytesAndGivesTheSameTwice) {
  Rng rng(11);
  for (const char* suffix : {".jpg", ".png", ".webp", ".tif", ".gif"}) {
    const std::string whole = PictureFile(PictureKind::kAlpha, 33, 21, suffix);
    for (int i = 0; i < 60; ++i) {
      std::string file = whole;
      for (uint64_t n = 1 + rng.Below(3); n > 0; --n) {
        file[rng.Below(file.size())] = static_cast<char>(rng.Below(256));
      }
      Picture first, second;
      const DecodeOptions options{.side = 16, .most_pixels = 1'000'000};
      const Status status = Decode(file, options, first);
      EXPECT_EQ(Decode(file, options, second), status) << suffix;
      EXPECT_TRUE(!status.ok() || first.bytes == second.bytes) << suffix;
    }
  }
}

TEST(DecodePicture, NamesTheRightReasonInEachOfManyThreads) {
  const std::string jpeg = PictureFile(PictureKind::kColor, 80, 60, ".jpg");
  const std::string png = PictureFile(PictureKind::kColor, 80, 60, ".png");
  Picture unused;
  const Status cut_jpeg = Decode(jpeg.substr(0, jpeg.size() / 2), {}, unused);
  const Status cut_png = Decode(png.substr(0, png.size() / 2), {}, unused);
  ASSERT_NE(cut_jpeg, cut_png);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Picture picture;
      for (int i = 0; i < 40; ++i) {
        if (t % 2 == 0) {
          EXPECT_EQ(Decode(jpeg.substr(0, jpeg.size() / 2), {}, picture), cut_jpeg);
        } else {
          EXPECT_EQ(Decode(png.substr(0, png.size() / 2), {}, picture), cut_png);
        }
        EXPECT_TRUE(Decode(jpeg, {}, picture).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(DecodePictureFile, NamesThePath) {
  const TestFolder folder;
  Picture picture;
  const Status missing = DecodePictureFile(folder / "no.jpg", {}, picture);
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("no.jpg"));
  EXPECT_THAT(DecodePictureFile(folder.Write("b.jpg", "text"), {}, picture).message(),
              HasSubstr("b.jpg: not a JPEG"));
  const std::string gif = PictureFile(PictureKind::kColor, 10, 10, ".gif");
  EXPECT_TRUE(DecodePictureFile(folder.Write("really_a_gif.jpg", gif), {}, picture).ok());
}

TEST(DecodePictureFile, WaitsForNothingThatIsNoFile) {
  const TestFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe.jpg").c_str(), 0600), 0);
  Picture picture;
  for (const std::string& path : {folder / "pipe.jpg", folder.path(), std::string("/dev/zero")}) {
    EXPECT_EQ(DecodePictureFile(path, {}, picture), DataLossError("{}: no regular file", path));
  }
}

TEST(DecodePictureFile, APathThatLeadsNowhereIsNotFound) {
  const TestFolder folder;
  folder.Write("file", "");
  ASSERT_EQ(::symlink("loop.jpg", (folder / "loop.jpg").c_str()), 0);
  Picture picture;
  for (const std::string& name :
       {std::string("file/x.jpg"), std::string("loop.jpg"), std::string(300, 'x')}) {
    EXPECT_EQ(DecodePictureFile(folder / name, {}, picture).code(), StatusCode::kNotFound) << name;
  }
}

TEST(SharedPets, DecodeWithTheirOddities) {
  const std::string images = std::string(INTERLUDE_SHARED_DATA) + "/oxford-pets/images";
  if (!std::filesystem::exists(images)) GTEST_SKIP() << "no " << images;
  Picture picture;
  for (const char* name : {"Abyssinian_34.jpg", "Abyssinian_5.jpg", "Abyssinian_82.jpg"}) {
    const Status status = DecodePictureFile(images + "/" + name, {.side = 64}, picture);
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(std::min(picture.width, picture.height), 64u) << name;
  }
  EXPECT_FALSE(DecodePictureFile(images + "/Abyssinian_100.mat", {}, picture).ok());
}

}  // namespace
}  // namespace interlude
