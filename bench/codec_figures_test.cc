#include "bench/codec_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace interlude {
namespace {

TEST(CodecFigures, EveryBarBelongsToABenchmark) {
  const std::vector<Bench> benches = CodecBenches(Codec::kQ4);
  for (const std::string& name : NamesWithCodecBar()) {
    EXPECT_TRUE(std::any_of(benches.begin(), benches.end(), [&](const Bench& bench) {
      return bench.name == name;
    })) << name;
    EXPECT_TRUE(CodecBar(name).has_value());
  }
  EXPECT_FALSE(CodecBar("memcpy").has_value());
}

void ExpectRightAndShown(Codec codec) {
  const BenchOptions options{.values = 100'003,
                             .chunk_values = 65'536,
                             .threads = 1,
                             .codec = codec,
                             .iterations = 1,
                             .repetitions = 2};
  size_t seen = 0;
  const auto figures = MeasureCodec(options, [&](const CodecFigure&) { ++seen; });
  EXPECT_EQ(seen, figures.size());
  EXPECT_EQ(figures.size(), CodecBenches(codec).size());
  for (const CodecFigure& figure : figures) {
    EXPECT_EQ(figure.wrong, "") << figure.name;
    EXPECT_GT(figure.of_memcpy, 0) << figure.name;
    EXPECT_EQ(figure.bar.has_value(), codec == Codec::kQ4 && CodecBar(figure.name)) << figure.name;
    EXPECT_LE(figure.least_of_memcpy, figure.of_memcpy);
    EXPECT_GE(figure.most_of_memcpy, figure.of_memcpy);
    EXPECT_EQ(figure.of_baseline > 0, !figure.baseline.empty()) << figure.name;
    EXPECT_THAT(FormatCodecLine(figure), testing::StartsWith(figure.name));
  }
  const auto json = nlohmann::json::parse(FormatCodecJson(options, figures));
  EXPECT_EQ(json["codec"], CodecName(codec));
  EXPECT_EQ(json["figures"].size(), figures.size());
  EXPECT_TRUE(json["figures"][0]["wrong"].is_null());
}

TEST(CodecFigures, AreRightAndShownAsTextAndJson) {
  for (const Codec codec : {Codec::kQ4, Codec::kQ8}) ExpectRightAndShown(codec);
}
TEST(CodecFigures, AWrongResultIsSaid) {
  EXPECT_THAT(FormatCodecLine({.name = "encode", .wrong = "one bit"}),
              testing::HasSubstr("WRONG: one bit"));
}

}  // namespace
}  // namespace interlude
