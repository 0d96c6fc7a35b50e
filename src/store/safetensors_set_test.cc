#include "store/safetensors_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "store/half_floats.h"
#include "store/temporary_directory.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// By the formats' definitions, with the math library.
float ByDefinition(uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  double value = 0;
  if (exponent == (1 << exponent_bits) - 1) {
    value = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(fraction, 1 - bias - fraction_bits);
  } else {
    value = std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  }
  return static_cast<float>((bits & 0x8000) != 0 ? -value : value);
}

void ExpectSame(float actual, float expected, uint32_t bits) {
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(actual)) << bits;
  } else {
    ASSERT_EQ(actual, expected) << bits;
    ASSERT_EQ(std::signbit(actual), std::signbit(expected)) << bits;
  }
}

TEST(HalfFloats, AllValuesOfBothTypesAreThoseOfTheirDefinition) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    ExpectSame(FromFloat16(half), ByDefinition(half, 5), bits);
    ExpectSame(FromBfloat16(half), ByDefinition(half, 8), bits);
  }
}

std::string FileWith(std::string_view header, std::string_view data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes.append(header).append(data);
}

// One tensor of bytes.
std::string OneTensor(const std::string& name) {
  return FileWith("{\"" + name + R"(":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "ab");
}

class SafetensorsSetTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& bytes) {
    WriteWholeFile(directory_.File(name), bytes);
  }
  std::string Error(const std::string& name = "") {
    const auto set = SafetensorsSet::Open(directory_.File(name));
    EXPECT_FALSE(set.ok());
    return set.status().message();
  }
  std::string IndexError(const std::string& text) {
    Write("model.safetensors.index.json", text);
    return Error();
  }

  TemporaryDirectory directory_;
};

TEST_F(SafetensorsSetTest, TwoByteValuesAreWidenedInTheirPlaceFromAnyPosition) {
  std::string data;
  std::vector<float> halves, brains;
  for (uint16_t i = 0; i < 100; ++i) {
    const auto bits = static_cast<uint16_t>(i * 211 + 3);
    data += static_cast<char>(bits & 0xff);
    data += static_cast<char>(bits >> 8);
    halves.push_back(FromFloat16(bits));
    brains.push_back(FromBfloat16(bits));
  }
  Write("m.safetensors", FileWith(R"({"b":{"dtype":"BF16","shape":[100],"data_offsets":[200,400]},)"
                                  R"("h":{"dtype":"F16","shape":[4,25],"data_offsets":[0,200]}})",
                                  data + data));
  const auto set = SafetensorsSet::Open(directory_.path());
  ASSERT_TRUE(set.ok()) << set.status().ToString();
  for (const size_t first : {0, 1, 37, 99, 100}) {
    for (const size_t count : {size_t{0}, size_t{1}, 100 - first}) {
      if (first + count > 100) continue;
      std::vector<float> out(count);
      ASSERT_TRUE(set->Read(*set->Find("h"), first, out).ok());
      EXPECT_TRUE(std::equal(out.begin(), out.end(), halves.begin() + static_cast<long>(first)));
      ASSERT_TRUE(set->Read(*set->Find("b"), first, out).ok());
      EXPECT_TRUE(std::equal(out.begin(), out.end(), brains.begin() + static_cast<long>(first)));
    }
  }
}

TEST_F(SafetensorsSetTest, ShardsBesideAnIndexAreOneSet) {
  Write("one.safetensors", OneTensor("x"));
  Write("two.safetensors", OneTensor("a"));
  Write(
      "model.safetensors.index.json",
      R"({"metadata":{"total_size":4},"weight_map":{"x":"one.safetensors","a":"two.safetensors"}})");
  const auto set = SafetensorsSet::Open(directory_.path());
  ASSERT_TRUE(set.ok()) << set.status().ToString();
  ASSERT_EQ(set->tensors().size(), 2u);
  EXPECT_EQ(set->tensors()[0].entry.name, "a");
  EXPECT_EQ(set->num_files(), 2u);
  EXPECT_NE(set->Find("x"), nullptr);
  EXPECT_EQ(set->Find("y"), nullptr);
  // The same through the index's own path, and one file where there is one.
  EXPECT_TRUE(SafetensorsSet::Open(directory_.File("model.safetensors.index.json")).ok());
  Write("model.safetensors", OneTensor("z"));
  EXPECT_EQ(SafetensorsSet::Open(directory_.path())->tensors()[0].entry.name, "z");
}

TEST_F(SafetensorsSetTest, AnIndexMayNotLeaveItsDirectory) {
  for (const char* file : {"../one.safetensors", "/etc/passwd", "a/b", "..", "."}) {
    EXPECT_THAT(IndexError(std::string(R"({"weight_map":{"x":")") + file + "\"}}"),
                HasSubstr("no name of a file beside it"))
        << file;
  }
  EXPECT_THAT(IndexError(R"({"weight_map":{"x":""}})"), HasSubstr("no name of a file"));
  EXPECT_THAT(IndexError(R"({"weight_map":{"x":"a\u0000b"}})"), HasSubstr("no name of a file"));
  EXPECT_THAT(IndexError(R"({"weight_map":{"x":3}})"), HasSubstr("no name of a file"));
}

TEST_F(SafetensorsSetTest, ADamagedIndexIsRefusedWithItsName) {
  for (const char* text : {"", "[]", "{", "{}", R"({"weight_map":[]})", R"({"weight_map":{}} x)",
                           R"({"weight_map":{"a":"b","a":"c"}})"}) {
    EXPECT_THAT(IndexError(text), HasSubstr("model.safetensors.index.json")) << text;
  }
  EXPECT_THAT(IndexError(R"({"weight_map":{"x":"gone.safetensors"}})"), HasSubstr("gone"));
  Write("one.safetensors", OneTensor("y"));
  EXPECT_THAT(IndexError(R"({"weight_map":{"x":"one.safetensors"}})"), HasSubstr("does not hold"));
}

TEST_F(SafetensorsSetTest, EveryTruncationOfAnIndexIsRefused) {
  const std::string text = R"({"weight_map":{"x":"one.safetensors"}})";
  for (size_t bytes = 0; bytes < text.size(); ++bytes) IndexError(text.substr(0, bytes));
}

TEST_F(SafetensorsSetTest, ADirectoryWithoutAChoiceIsAnError) {
  EXPECT_THAT(Error(), HasSubstr("0 other safetensors files"));
  Write("a.safetensors", OneTensor("a"));
  EXPECT_TRUE(SafetensorsSet::Open(directory_.path()).ok());
  Write("b.safetensors", OneTensor("b"));
  EXPECT_THAT(Error(), HasSubstr("2 other safetensors files: name one"));
  EXPECT_TRUE(SafetensorsSet::Open(directory_.File("b.safetensors")).ok());
}

TEST_F(SafetensorsSetTest, AFileThatCannotBeLookedAtIsAnErrorAndNoException) {
  std::filesystem::create_symlink("model.safetensors", directory_.File("model.safetensors"));
  EXPECT_THAT(Error(), HasSubstr("symbolic links"));
}

}  // namespace
}  // namespace interlude
