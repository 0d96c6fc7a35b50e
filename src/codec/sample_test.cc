// The committed samples of the formats, and the hex examples of their pages. They were made by
// testdata/q4/make_sample.py and testdata/q8/make_sample.py, which share no code with the kernels.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "codec/block_format.h"
#include "codec/block_kernels.h"
#include "codec/chunk_codec.h"
#include "codec/chunk_payload.h"
#include "codec/codec_test_data.h"

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

/// The inputs are the same 200 values for both.
const std::string kInputs = "testdata/q4/v2/";

class FormatSample : public testing::TestWithParam<Codec> {
 protected:
  static std::string Directory() {
    return GetParam() == Codec::kQ4 ? "testdata/q4/v2/" : "testdata/q8/v1/";
  }
  std::vector<float> Floats(const std::string& name) const {
    return ReadSourceFloats(Directory() + name);
  }
  std::vector<std::byte> Payload() const {
    return ReadSourceFile(Directory() + "payload." + CodecName(GetParam()));
  }
};

TEST_P(FormatSample, IsEncodedToTheCommittedBytes) {
  const std::vector<float> params = ReadSourceFloats(kInputs + "params.f32");
  const std::vector<float> base = ReadSourceFloats(kInputs + "base.f32");
  const std::vector<std::byte> expected = Payload();
  ASSERT_EQ(200u, params.size());
  for (const CodecKernels* kernels : {&SpecifiedKernels(GetParam()), &KernelsOf(GetParam())}) {
    std::vector<float> residual = ReadSourceFloats(kInputs + "residual.f32");
    std::vector<std::byte> bytes(EncodedBytes(GetParam(), 200));
    const ChunkPayload payload(GetParam(), std::span(bytes), 200);
    ASSERT_EQ(kAllFinite, kernels->encode_delta(params.data(), base.data(), residual.data(), 200,
                                                payload.codes(0), payload.scales(0)));
    EXPECT_EQ(Hex(expected), Hex(bytes));
    EXPECT_TRUE(SameBits(Floats("residual_after.f32"), residual));
  }
}

TEST_P(FormatSample, IsAppliedToTheCommittedBase) {
  std::vector<float> base = ReadSourceFloats(kInputs + "base.f32");
  std::vector<float> params(base.size());
  const std::vector<std::byte> payload = Payload();
  ASSERT_TRUE(ValidatePayload(GetParam(), payload, base.size()).ok());
  Apply(GetParam(), payload, base, params);
  EXPECT_TRUE(SameBits(Floats("base_after.f32"), base));
}

TEST_P(FormatSample, TheHexExampleOfThePageIsWhatTheEncoderWrites) {
  const std::vector<std::byte> page =
      ReadSourceFile(fmt::format("docs/formats/{}.md", CodecName(GetParam())));
  const std::string document(reinterpret_cast<const char*>(page.data()), page.size());
  std::vector<float> update(70);
  for (size_t j = 0; j < 70; ++j) update[j] = (static_cast<float>(29 * j % 70) - 35.0f) / 1024.0f;
  std::vector<float> base(70, 0.0f);
  std::vector<std::byte> payload(EncodedBytes(GetParam(), 70));
  EncodeUpdate(GetParam(), update, {}, base, payload);
  EXPECT_EQ(HexAfter(document, "## Example"), Hex(payload));
}

INSTANTIATE_TEST_SUITE_P(Formats, FormatSample, testing::Values(Codec::kQ4, Codec::kQ8),
                         [](const auto& codec) { return CodecName(codec.param); });

}  // namespace
}  // namespace interlude
