#include "store/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <limits>

#include "store/temporary_directory.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Layout SmallLayout() {
  return Layout::Create({{.name = "b.weight", .shape = {2, 3}},
                         {.name = "a.scale", .shape = {}},
                         {.name = "größe", .shape = {2}}},
                        64)
      .value();
}

const std::vector<float> kSmallValues = {1, 2, 3, 4, 5, 6, -0.5f, 1e-30f, -7};
const std::map<std::string, std::string> kSmallMetadata = {{"round", "12"},
                                                           {"quote\"d", "line\nbreak"}};

std::string FileWith(std::string_view header, std::string_view data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes.append(header).append(data);
}

class Safetensors : public testing::Test {
 protected:
  void WriteSmall() {
    const Status status = WriteSafetensors(path_, SmallLayout(), kSmallValues, kSmallMetadata);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  StatusOr<SafetensorsHeader> Read(std::string_view bytes) {
    WriteWholeFile(path_, bytes);
    return ReadSafetensorsHeader(path_);
  }
  void ExpectRefused(std::string_view header, std::string_view data, const std::string& text) {
    const auto read = Read(FileWith(header, data));
    ASSERT_FALSE(read.ok()) << header;
    EXPECT_EQ(read.status().code(), StatusCode::kDataLoss) << header;
    EXPECT_THAT(read.status().message(), HasSubstr(text)) << header;
    EXPECT_THAT(read.status().message(), HasSubstr(path_)) << header;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_.File("model.safetensors");
};

TEST_F(Safetensors, WhatIsWrittenIsReadBack) {
  WriteSmall();
  const auto header = ReadSafetensorsHeader(path_);
  ASSERT_TRUE(header.ok()) << header.status().ToString();
  EXPECT_EQ(header->metadata, (std::map<std::string, std::string>{
                                  {"format", "pt"}, {"round", "12"}, {"quote\"d", "line\nbreak"}}));
  EXPECT_EQ(header->data_begin % 8, 0u);
  const Layout layout = SmallLayout();
  ASSERT_EQ(header->entries.size(), layout.parameters().size());
  for (size_t i = 0; i < header->entries.size(); ++i) {
    const SafetensorsEntry& entry = header->entries[i];
    const ParameterSpec& parameter = layout.parameters()[i];
    EXPECT_EQ(entry.name, parameter.name);
    EXPECT_EQ(entry.dtype, "F32");
    EXPECT_EQ(entry.shape, parameter.shape);
    std::vector<float> values(parameter.count);
    ASSERT_TRUE(ReadSafetensorsFloats(path_, *header, entry, 0, values).ok());
    const auto expected = std::span(kSmallValues).subspan(parameter.offset, parameter.count);
    EXPECT_EQ(values, std::vector<float>(expected.begin(), expected.end()));
  }
}

TEST_F(Safetensors, TheWriterStillMakesTheSampleFile) {
  WriteSmall();
  // The sample was put together in Python from the format's description.
  EXPECT_EQ(ReadWholeFile(path_),
            ReadWholeFile(INTERLUDE_TESTDATA "/safetensors/small.safetensors"));
}

TEST_F(Safetensors, EveryTruncationIsRefused) {
  WriteSmall();
  const std::string whole = ReadWholeFile(path_);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(Read(std::string_view(whole).substr(0, size)).status().code(), StatusCode::kDataLoss)
        << size;
  }
  EXPECT_EQ(Read(whole + "x").status().code(), StatusCode::kDataLoss);
}

TEST_F(Safetensors, AFlippedByteGivesAnErrorOrAHeaderThatStillFitsTheFile) {
  WriteSmall();
  const std::string whole = ReadWholeFile(path_);
  const uint64_t data_begin = ReadSafetensorsHeader(path_)->data_begin;
  for (size_t i = 0; i < data_begin; ++i) {
    for (const unsigned flip : {0x01u, 0x20u, 0x80u, 0xffu}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ flip);
      const auto header = Read(damaged);
      if (!header.ok()) {
        EXPECT_EQ(header.status().code(), StatusCode::kDataLoss);
        continue;
      }
      EXPECT_GE(i, 8u) << "a wrong length must not pass";
      uint64_t next = 0;
      for (const SafetensorsEntry& entry : header->entries) {
        EXPECT_EQ(entry.begin, next);
        next = entry.end;
      }
      EXPECT_EQ(header->data_begin + next, whole.size());
    }
  }
}

TEST_F(Safetensors, TextThatIsNoJsonObjectIsRefused) {
  ExpectRefused("", "", "no JSON object");
  ExpectRefused("   ", "", "no JSON object");
  ExpectRefused("[]", "", "no JSON object");
  ExpectRefused("{", "", "no JSON");
  ExpectRefused("{} {}", "", "no JSON");
  ExpectRefused("{}//x", "", "no JSON");
  ExpectRefused("\xEF\xBB\xBF{}", "", "no JSON object");  // a byte order mark
  ExpectRefused(std::string_view("{}\0x", 4), "", "zero byte");
  ExpectRefused("{\"\xff\":{}}", "", "no JSON");     // not UTF-8
  ExpectRefused(R"({"\ud800":{}})", "", "no JSON");  // half a surrogate pair
  std::string deep = R"({"t":)" + std::string(500, '[') + std::string(500, ']') + "}";
  ExpectRefused(deep, "", "nested deeper");
}

TEST_F(Safetensors, RepeatedKeysAreRefused) {
  ExpectRefused(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
      "x", R"(the key "a" occurs twice)");
  ExpectRefused(R"({"a":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})", "x",
                "shape");
  ExpectRefused(R"({"__metadata__":{"k":"1","k":"2"}})", "", R"(the key "k" occurs twice)");
  ExpectRefused(R"({"__metadata__":{},"__metadata__":{}})", "", "occurs twice");
}

TEST_F(Safetensors, MalformedEntriesAreRefusedByName) {
  ExpectRefused(R"({"t":1})", "", R"(tensor "t": its description is no object)");
  ExpectRefused(R"({"t":{"dtype":"U8","shape":[1]}})", "x", "is missing");
  ExpectRefused(R"({"t":{"dtype":8,"shape":[1],"data_offsets":[0,1]}})", "x", "dtype is no text");
  ExpectRefused(R"({"t":{"dtype":"U9","shape":[1],"data_offsets":[0,1]}})", "x",
                "dtype is unknown");
  ExpectRefused(R"({"t":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})", "x", "no array of sizes");
  ExpectRefused(R"({"t":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", "x",
                "no array of sizes");
  ExpectRefused(R"({"t":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", "x",
                "no array of sizes");
  ExpectRefused(R"({"t":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,1]}})", "x",
                "sizes");
  ExpectRefused(R"({"t":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,1]}})", "x",
                "too large");
  ExpectRefused(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", "x",
                "no two positions");
  ExpectRefused(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", "x",
                "before its begin");
  ExpectRefused(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,3]}})", "xxx",
                "takes 4 bytes");
  ExpectRefused(R"({"t":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", "xx",
                "whole number of bytes");
  ExpectRefused(R"({"t":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", "",
                "overflows");
  ExpectRefused(R"({"__metadata__":{"k":1}})", "", "no text");
  ExpectRefused(R"({"__metadata__":[]})", "", "__metadata__ is no object");
}

TEST_F(Safetensors, OverlapsHolesAndRestsAreRefused) {
  const auto two = [](int begin) {
    return fmt::format(R"({{"a":{{"dtype":"U8","shape":[2],"data_offsets":[0,2]}},)"
                       R"("b":{{"dtype":"U8","shape":[2],"data_offsets":[{},{}]}}}})",
                       begin, begin + 2);
  };
  EXPECT_TRUE(Read(FileWith(two(2), "xxxx")).ok());
  ExpectRefused(two(1), "xxx", "begins at data byte 1, the tensors before it end at 2");
  ExpectRefused(two(3), "xxxxx", "begins at data byte 3, the tensors before it end at 2");
  ExpectRefused(two(2), "xxxxx", "take 4 bytes, the file holds 5");
  ExpectRefused(two(2), "xxx", "take 4 bytes, the file holds 3");
  ExpectRefused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "xx",
                "begins at data byte 1");
}

TEST_F(Safetensors, WhatTheFormatAllowsIsRead) {
  const auto header = Read(FileWith(
      R"( {"__metadata__":null,"second":{"dtype":"BF16","shape":[2],"data_offsets":[2,6],"note":[1]},)"
      R"("first":{"dtype":"F4","shape":[2,2],"data_offsets":[0,2]},)"
      R"("none":{"dtype":"C64","shape":[0,5],"data_offsets":[6,6]}}  )",
      "xxxxxx"));
  ASSERT_TRUE(header.ok()) << header.status().ToString();
  std::vector<std::string> names;
  for (const auto& entry : header->entries) names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre("first", "second", "none"));
  EXPECT_TRUE(header->metadata.empty());
  EXPECT_TRUE(Read(FileWith("{}", "")).ok());
}

TEST_F(Safetensors, AHeaderLengthBeyondTheLimitIsRefusedBeforeItIsRead) {
  std::string bytes = FileWith("{}", "");
  const uint64_t claimed = kMaxSafetensorsHeaderBytes + 1;
  std::memcpy(bytes.data(), &claimed, sizeof(claimed));
  EXPECT_THAT(Read(bytes).status().message(),
              HasSubstr("claims 100000001 bytes, the limit is 100000000"));
  const uint64_t wrapping = std::numeric_limits<uint64_t>::max() - 3;
  std::memcpy(bytes.data(), &wrapping, sizeof(wrapping));
  EXPECT_THAT(Read(bytes).status().message(), HasSubstr("the limit is"));
}

TEST_F(Safetensors, ReadingValuesChecksTypeSizeAndFile) {
  WriteSmall();
  const auto header = ReadSafetensorsHeader(path_).value();
  std::vector<float> six(6), seven(7);
  const SafetensorsEntry& entry = header.entries[0];
  EXPECT_THAT(ReadSafetensorsFloats(path_, header, entry, 0, seven).message(),
              HasSubstr("tensor b.weight has 6 values, but 7 from 0 on"));
  EXPECT_THAT(ReadSafetensorsFloats(path_, header, entry, 1, six).message(),
              HasSubstr("6 from 1 on"));
  EXPECT_FALSE(ReadSafetensorsFloats(path_, header, entry, ~uint64_t{0}, six).ok());
  std::vector<float> two(2);
  ASSERT_TRUE(ReadSafetensorsFloats(path_, header, entry, 3, two).ok());
  EXPECT_THAT(two, ElementsAre(4, 5));
  SafetensorsEntry integers = header.entries[0];
  integers.dtype = "I32";
  EXPECT_THAT(ReadSafetensorsFloats(path_, header, integers, 0, six).message(),
              HasSubstr("is I32, but only F32"));
  std::filesystem::resize_file(path_, header.data_begin + 10);
  EXPECT_EQ(ReadSafetensorsFloats(path_, header, entry, 0, six).code(), StatusCode::kDataLoss);
}

TEST_F(Safetensors, AbsentFilesAndDirectoriesAreNamed) {
  EXPECT_EQ(ReadSafetensorsHeader(path_).status().code(), StatusCode::kNotFound);
  EXPECT_THAT(ReadSafetensorsHeader(path_).status().message(), HasSubstr(path_));
  EXPECT_EQ(ReadSafetensorsHeader(directory_.path()).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(Safetensors, AFailedWriteSaysWhyAndLeavesTheOldFile) {
  WriteWholeFile(path_, "old");
  std::filesystem::create_symlink("/dev/full", path_ + ".partial");
  const Status status = WriteSafetensors(path_, SmallLayout(), kSmallValues, {});
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("No space left on device"));
  EXPECT_EQ(ReadWholeFile(path_), "old");
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(path_ + ".partial")));
}

TEST_F(Safetensors, NamesThatTheFormatCannotHoldAreRefused) {
  const auto write = [&](const std::string& name) {
    return WriteSafetensors(path_, Layout::Create({{.name = name, .shape = {1}}}, 64).value(),
                            std::vector<float>{1}, {});
  };
  EXPECT_EQ(write("__metadata__").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(write("\xff\xfe").code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".partial"));
}

}  // namespace
}  // namespace interlude
