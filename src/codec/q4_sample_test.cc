// The committed sample of the format, and the hex example of its page. The sample
// was made by testdata/q4/make_sample.py, which shares no code with the kernels.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "codec/chunk_codec.h"
#include "codec/codec_test_data.h"
#include "codec/q4_format.h"
#include "codec/q4_kernels.h"

namespace interlude {
namespace {

std::string Hex(std::span<const std::byte> bytes) {
  std::string text;
  for (std::byte byte : bytes) text += fmt::format("{:02x} ", static_cast<unsigned>(byte));
  return text;
}

/// The bytes of the lines "0010  ab cd ..." of the first fenced block after `heading`.
std::string HexAfter(const std::string& document, const std::string& heading) {
  const size_t at = document.find("```", document.find(heading));
  const size_t begin = document.find('\n', at) + 1;
  std::istringstream block(document.substr(begin, document.find("```", begin) - begin));
  std::string text;
  for (std::string line; std::getline(block, line);) text += line.substr(6) + " ";
  return text;
}

TEST(Q4Sample, Version2IsEncodedToTheCommittedBytes) {
  const std::vector<float> params = ReadSourceFloats("testdata/q4/v2/params.f32");
  const std::vector<float> base = ReadSourceFloats("testdata/q4/v2/base.f32");
  const std::vector<float> residual_after = ReadSourceFloats("testdata/q4/v2/residual_after.f32");
  const std::vector<std::byte> expected = ReadSourceFile("testdata/q4/v2/payload.q4");
  ASSERT_EQ(200u, params.size());
  for (const CodecKernels* kernels : {&ScalarQ4Kernels(), &SimdQ4Kernels()}) {
    std::vector<float> residual = ReadSourceFloats("testdata/q4/v2/residual.f32");
    std::vector<std::byte> payload(Q4PayloadBytes(200));
    ASSERT_EQ(kAllFinite, kernels->encode_delta(params.data(), base.data(), residual.data(), 200,
                                                payload.data(), payload.data() + 4 * kQ4CodeBytes));
    EXPECT_EQ(Hex(expected), Hex(payload));
    EXPECT_TRUE(SameBits(residual_after, residual));
  }
}

TEST(Q4Sample, Version2IsAppliedToTheCommittedBase) {
  std::vector<float> base = ReadSourceFloats("testdata/q4/v2/base.f32");
  std::vector<float> params(base.size());
  const std::vector<std::byte> payload = ReadSourceFile("testdata/q4/v2/payload.q4");
  ASSERT_TRUE(ValidatePayload(Codec::kQ4, payload, base.size()).ok());
  Apply(Codec::kQ4, payload, base, params);
  EXPECT_TRUE(SameBits(ReadSourceFloats("testdata/q4/v2/base_after.f32"), base));
}

TEST(Q4Sample, TheHexExampleOfTheFormatPageIsWhatTheEncoderWrites) {
  const std::vector<std::byte> page = ReadSourceFile("docs/formats/q4.md");
  const std::string document(reinterpret_cast<const char*>(page.data()), page.size());
  std::vector<float> update(70);
  for (size_t j = 0; j < 70; ++j) update[j] = (static_cast<float>(29 * j % 70) - 35.0f) / 1024.0f;
  std::vector<float> base(70, 0.0f);
  std::vector<std::byte> payload(Q4PayloadBytes(70));
  EncodeUpdate(Codec::kQ4, update, {}, base, payload);
  EXPECT_EQ(HexAfter(document, "## Example"), Hex(payload));
}

}  // namespace
}  // namespace interlude
