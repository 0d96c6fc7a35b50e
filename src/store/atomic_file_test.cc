#include "store/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "store/temporary_directory.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(AtomicFile, TheNameAppearsOnlyWithCommit) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model");
  auto file = AtomicFile::Create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Write(Bytes("one ")).ok());
  ASSERT_TRUE(file->Write(Bytes("two")).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(ReadWholeFile(path), "one two");
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

TEST(AtomicFile, WritingBehindMakesTheSameFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model");
  for (const size_t piece : {1u, 4095u, 4096u, 4097u, 20'000u}) {
    std::string text;
    auto file = AtomicFile::Create(path, 4096);
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    while (text.size() < 3 * 4096 + 100) {
      const std::string next(piece, static_cast<char>('a' + text.size() / piece % 26));
      ASSERT_TRUE(file->Write(Bytes(next)).ok());
      text += next;
    }
    ASSERT_TRUE(file->Commit().ok());
    EXPECT_TRUE(ReadWholeFile(path) == text) << piece;
  }
}

TEST(AtomicFile, WithoutCommitTheOldContentStaysAndThePartGoes) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model");
  WriteWholeFile(path, "old");
  {
    auto file = AtomicFile::Create(path);
    ASSERT_TRUE(file.ok() && file->Write(Bytes("new")).ok());
    EXPECT_TRUE(std::filesystem::exists(path + ".partial"));
  }
  EXPECT_EQ(ReadWholeFile(path), "old");
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

TEST(AtomicFile, WhatACrashLeftIsReplaced) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model");
  WriteWholeFile(path + ".partial", "much longer than what follows");
  auto file = AtomicFile::Create(path);
  ASSERT_TRUE(file.ok() && file->Write(Bytes("new")).ok() && file->Commit().ok());
  EXPECT_EQ(ReadWholeFile(path), "new");
}

TEST(AtomicFile, AFullDiskIsSaidAndNothingIsLeft) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model");
  WriteWholeFile(path, "old");
  std::filesystem::create_symlink(
      "/dev/full", path + ".partial");  // a device on which every write finds no room
  {
    auto file = AtomicFile::Create(path);
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    const Status status = file->Write(Bytes("new"));
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(status.message(),
                HasSubstr("writing 3 bytes to " + path + ".partial: No space left on device"));
  }
  EXPECT_EQ(ReadWholeFile(path), "old");
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(path + ".partial")));
}

TEST(AtomicFile, AFailedRenameLeavesNothing) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model");
  std::filesystem::create_directories(path + "/inside");
  {
    auto file = AtomicFile::Create(path);
    ASSERT_TRUE(file.ok() && file->Write(Bytes("new")).ok());
    EXPECT_THAT(file->Commit().message(), HasSubstr("renaming " + path + ".partial to " + path));
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

TEST(AtomicFile, AMissingDirectoryIsNamed) {
  const TemporaryDirectory directory;
  const auto file = AtomicFile::Create(directory.File("absent/model"));
  EXPECT_EQ(file.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(file.status().message(), HasSubstr("absent/model.partial"));
}

}  // namespace
}  // namespace interlude
