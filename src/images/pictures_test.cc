#include "images/pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "images/test_noise.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool Keeps(PictureCache& cache, uint64_t sample, uint32_t side) {
  const Picture picture = NoisePicture(side, side, 1, sample);
  cache.Keep(sample, picture.view());
  const PictureView kept = cache.Find(sample);
  if (kept.data == nullptr) return false;
  EXPECT_TRUE(std::ranges::equal(kept.bytes(), picture.view().bytes()));
  return true;
}

TEST(PictureCache, ASmallBudgetIsUsedUp) {
  PictureCache cache(5, {.bytes = 250});
  EXPECT_TRUE(Keeps(cache, 0, 10));
  EXPECT_TRUE(Keeps(cache, 1, 10));
  EXPECT_FALSE(Keeps(cache, 2, 10));
  EXPECT_TRUE(Keeps(cache, 3, 7));
  EXPECT_FALSE(Keeps(cache, 4, 2));
}

TEST(PictureCache, WhatIsLeftBehindFullSlabsIsUsedToo) {
  constexpr uint64_t kMiB = 1 << 20;
  PictureCache cache(22, {.bytes = 20 * kMiB});  // a slab of 16 MiB and one of 4
  for (uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(Keeps(cache, i, 1024)) << i;
  EXPECT_FALSE(Keeps(cache, 20, 1024));
  PictureCache large(2, {.bytes = 18 * kMiB});  // a picture larger than the usual slab
  EXPECT_TRUE(Keeps(large, 0, 4200));
  EXPECT_FALSE(Keeps(large, 1, 4200));
}

TEST(PictureCache, TakesNoMoreMemoryThanItMay) {
  std::vector<uint64_t> asked;
  bool may = true;
  PictureCache cache(40, {.bytes = uint64_t{64} << 20, .may_grow = [&](uint64_t bytes) {
                            asked.push_back(bytes);
                            return may;
                          }});
  EXPECT_TRUE(Keeps(cache, 0, 2048));
  EXPECT_THAT(asked, ElementsAre(uint64_t{16} << 20));
  may = false;
  for (uint64_t i = 1; i < 4; ++i) EXPECT_TRUE(Keeps(cache, i, 2048)) << "in what it has";
  EXPECT_EQ(asked.size(), 1u);
  EXPECT_FALSE(Keeps(cache, 4, 2048));
  EXPECT_EQ(asked.size(), 2u);
}

TEST(Pictures, OnlyAFileThatIsItselfToBlameIsReplaced) {
  DataPart part{.labels = {5, 6}, .files = {"first", "second"}};
  Status status;
  const Pictures pictures(part, [&](const std::string& path, Picture& out) {
    if (path == "first") return status;
    out = NoisePicture(2, 2, 3, 1);
    return OkStatus();
  });
  Picture scratch;
  for (const Status& bad : {DataLossError("x"), NotFoundError("x"),
                            Status(StatusCode::kPermissionDenied, "x"), OutOfRangeError("x")}) {
    status = bad;
    const auto read = pictures.Read(0, scratch);
    ASSERT_TRUE(read.ok()) << bad.ToString();
    EXPECT_EQ(read->sample, 1u);
  }
  for (const int error : {EMFILE, ENFILE, ENOMEM, EIO, ESTALE}) {
    status = ErrnoError(error, "first");
    EXPECT_EQ(pictures.Read(0, scratch).status(), status);
  }
}

}  // namespace
}  // namespace interlude
