#include "images/file_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

using ::testing::HasSubstr;

/// Files that exist in name only: each is one color that its number gives; those whose number is
/// divisible by `bad_every` cannot be read.
class FileBatchesTest : public ::testing::Test {
 protected:
  FileBatchesTest() : transform_({.size = 4, .channels = 1}) {}

  static int NumberOf(const std::string& path) {
    return std::stoi(path.substr(path.find('/') + 1));
  }

  DecodeFunction Decoder(int bad_every) const {
    return [bad_every](const std::string& path, Picture& out) -> Status {
      const int number = NumberOf(path);
      if (number % bad_every == 0) return DataLossError("{}: broken", path);
      out.Reshape(5, 6, 1);
      std::ranges::fill(out.bytes, static_cast<uint8_t>(number));
      return OkStatus();
    };
  }

  static std::vector<std::string> Files(int count) {
    std::vector<std::string> files;
    for (int i = 1; i <= count; ++i) files.push_back(fmt::format("f/{}", i * 37 % 101));
    return files;
  }

  const Transform transform_;
};

TEST_F(FileBatchesTest, EveryFileComesInItsPlaceHoweverManyThreadsDecode) {
  for (const int threads : {0, 1, 3}) {
    for (const uint32_t batch : {1u, 7u, 50u, 200u}) {
      const std::vector<std::string> files = Files(100);
      FileBatches batches(files, Decoder(1000), transform_, batch, {.threads = threads});
      size_t next = 0;
      while (!batches.done()) {
        auto taken = batches.Next();
        ASSERT_TRUE(taken.ok()) << taken.status().ToString();
        EXPECT_EQ(taken->first, next);
        ASSERT_LE(taken->statuses.size(), batch);
        for (size_t i = 0; i < taken->statuses.size(); ++i, ++next) {
          EXPECT_TRUE(taken->statuses[i].ok());
          const auto expected = static_cast<float>(NumberOf(files[next])) / 255.0f;
          for (const float value : taken->pictures.images().subspan(i * 16, 16)) {
            EXPECT_FLOAT_EQ(value, expected) << files[next];
          }
        }
      }
      EXPECT_EQ(next, files.size());
    }
  }
}

TEST_F(FileBatchesTest, WhatCannotBeReadIsSaidInItsPlaceAndNothingStandsInForIt) {
  std::vector<std::string> files = Files(60);
  files.push_back("twice/9");
  files.push_back("twice/9");
  FileBatches batches(files, Decoder(3), transform_, 8, {.threads = 2});
  size_t next = 0;
  while (!batches.done()) {
    auto taken = batches.Next();
    ASSERT_TRUE(taken.ok());
    for (size_t i = 0; i < taken->statuses.size(); ++i, ++next) {
      const Status& status = taken->statuses[i];
      EXPECT_EQ(status.ok(), NumberOf(files[next]) % 3 != 0) << files[next];
      EXPECT_THAT(status.message(),
                  status.ok() ? HasSubstr("") : HasSubstr(files[next] + ": broken"));
    }
  }
  EXPECT_EQ(next, files.size());
}

TEST_F(FileBatchesTest, NoFilesAreNoBatches) {
  EXPECT_TRUE(FileBatches({}, Decoder(3), transform_, 8, {.threads = 1}).done());
}

TEST_F(FileBatchesTest, MayBeLeftHalfWay) {
  FileBatches batches(Files(100), Decoder(3), transform_, 4, {.threads = 2});
  ASSERT_TRUE(batches.Next().ok());
}

}  // namespace
}  // namespace interlude
