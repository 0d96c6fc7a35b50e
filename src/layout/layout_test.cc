#include "layout/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "base/rng.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;

ParameterSpec Spec(std::string name, std::vector<int64_t> shape) {
  return {.name = std::move(name), .shape = std::move(shape)};
}

Layout Make(std::vector<ParameterSpec> parameters, size_t chunk_params = kBlockParams) {
  return Layout::Create(std::move(parameters), chunk_params).value();
}

std::vector<ParameterSpec> Example() {
  return {Spec("a.weight", {3, 50}), Spec("a.scale", {}), Spec("b.bias", {7}),
          Spec("c", {2, 3, 4})};
}

void ExpectRefused(std::vector<ParameterSpec> parameters, size_t chunk_params,
                   const std::string& text) {
  const auto layout = Layout::Create(std::move(parameters), chunk_params);
  ASSERT_FALSE(layout.ok()) << "expected a refusal with: " << text;
  EXPECT_EQ(layout.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(layout.status().message(), HasSubstr(text));
}

TEST(Layout, RandomLayoutsTileTheSequenceWithTensorsAndWithChunks) {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<ParameterSpec> parameters(1 + rng.Below(9));
    size_t total = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      size_t count = 1;
      for (uint64_t d = rng.Below(4); d > 0; --d) {
        parameters[i].shape.push_back(static_cast<int64_t>(1 + rng.Below(9)));
        count *= static_cast<size_t>(parameters[i].shape.back());
      }
      parameters[i].name = "p" + std::to_string(i);
      parameters[i].offset = 999;  // to be ignored
      total += count;
    }
    const size_t chunk_params = kBlockParams * (1 + rng.Below(4));
    const Layout layout = Make(parameters, chunk_params);

    EXPECT_EQ(layout.total_params(), total);
    size_t next = 0;
    for (const ParameterSpec& parameter : layout.parameters()) {
      EXPECT_EQ(parameter.offset, next);
      EXPECT_EQ(&layout.ParameterAt(parameter.offset), &parameter);
      EXPECT_EQ(&layout.ParameterAt(parameter.offset + parameter.count - 1), &parameter);
      next += parameter.count;
    }
    EXPECT_EQ(next, total);

    next = 0;
    for (uint32_t i = 0; i < layout.num_chunks(); ++i) {
      const ChunkRange chunk = layout.chunk(i);
      EXPECT_EQ(chunk.index, i);
      EXPECT_EQ(chunk.begin, next);
      EXPECT_GE(chunk.count, 1u);
      if (i + 1 < layout.num_chunks()) {
        EXPECT_EQ(chunk.count, chunk_params);
      } else {
        EXPECT_LE(chunk.count, chunk_params);
      }
      next += chunk.count;
    }
    EXPECT_EQ(next, total);
  }
}

TEST(Layout, TheLastChunkIsShortUnlessTheChunksFitExactly) {
  const Layout uneven = Make({Spec("w", {129})}, 64);
  EXPECT_EQ(uneven.num_chunks(), 3u);
  EXPECT_EQ(uneven.chunk(2).begin, 128u);
  EXPECT_EQ(uneven.chunk(2).count, 1u);
  const Layout even = Make({Spec("w", {2, 64})}, 64);
  EXPECT_EQ(even.num_chunks(), 2u);
  EXPECT_EQ(even.chunk(1).count, 64u);
}

TEST(Layout, EqualInputGivesEqualSignaturesAndAnyChangeAnother) {
  const auto changed = [](auto change) {
    auto parameters = Example();
    change(parameters);
    return Make(std::move(parameters)).signature();
  };
  const Hash128 original = Make(Example()).signature();
  EXPECT_EQ(Make(Example()).signature(), original);
  EXPECT_NE(original, Hash128{});

  const std::set<Hash128> signatures = {
      original,
      Make(Example(), 2 * kBlockParams).signature(),
      changed([](auto& p) { p[0].name = "a.weighs"; }),
      changed([](auto& p) {
        p[0].shape = {50, 3};
      }),
      changed([](auto& p) { p[0].shape = {150}; }),
      changed([](auto& p) { p[1].shape = {1}; }),
      changed([](auto& p) { std::swap(p[0], p[1]); }),
      changed([](auto& p) { std::swap(p[1].name, p[2].name); }),
      changed([](auto& p) { p.pop_back(); }),
      changed([](auto& p) { p.push_back(Spec("d", {1})); }),
  };
  EXPECT_EQ(signatures.size(), 10u);
}

TEST(Layout, TheSignatureOfAKnownLayoutStaysWhatItIs) {
  // Workers and coordinators of different builds compare it, so it must not drift.
  EXPECT_EQ(Make(Example()).signature().ToHex(), "7b9fe5e53fd67b7d904d12c5cf2445a0");
}

TEST(Layout, PositionsAreNamedByTensorAndRowMajorIndex) {
  const Layout layout = Make(Example());
  EXPECT_EQ(layout.DescribePosition(0), "a.weight[0, 0]");
  EXPECT_EQ(layout.DescribePosition(50), "a.weight[1, 0]");
  EXPECT_EQ(layout.DescribePosition(149), "a.weight[2, 49]");
  EXPECT_EQ(layout.DescribePosition(150), "a.scale");
  EXPECT_EQ(layout.DescribePosition(151), "b.bias[0]");
  EXPECT_EQ(layout.DescribePosition(157), "b.bias[6]");
  EXPECT_EQ(layout.DescribePosition(158 + 17), "c[1, 1, 1]");
  EXPECT_EQ(layout.DescribePosition(181), "c[1, 2, 3]");
  EXPECT_EQ(layout.DescribePosition(182), "position 182, outside the layout of 182 values");
}

TEST(Layout, TheFirstDifferenceIsSaidInWords) {
  const Layout mine = Make(Example());
  EXPECT_EQ(mine.DescribeDifference(Make(Example())), "equal");

  auto parameters = Example();
  parameters[2].shape = {8};
  EXPECT_EQ(mine.DescribeDifference(Make(parameters)),
            "parameter 2: mine is b.bias [7], the other's b.bias [8]");
  parameters = Example();
  parameters[1].name = "other";
  EXPECT_EQ(mine.DescribeDifference(Make(parameters)),
            "parameter 1: mine is a.scale [], the other's other []");
  parameters = Example();
  parameters.pop_back();
  EXPECT_EQ(mine.DescribeDifference(Make(parameters)),
            "mine has 4 parameters, the other 3; only mine has c");
  EXPECT_EQ(Make(parameters).DescribeDifference(mine),
            "mine has 3 parameters, the other 4; only the other has c");
  EXPECT_EQ(mine.DescribeDifference(Make(Example(), 128)),
            "chunks of 64 values, the other's of 128");
}

TEST(Layout, MalformedParametersAreRefusedByName) {
  ExpectRefused({}, 64, "at least one parameter");
  ExpectRefused({Spec("a", {1}), Spec("", {1})}, 64, "parameter 1 has no name");
  ExpectRefused({Spec("a", {1}), Spec("b", {1}), Spec("a", {2})}, 64, "two parameters are named a");
  ExpectRefused({Spec("a\nb", {1})}, 64, "parameter 0 contains a control character");
  ExpectRefused({Spec(std::string(kMaxNameBytes + 1, 'x'), {1})}, 64,
                "1025 bytes, the limit is 1024");
  ExpectRefused({Spec("w", {3, 0})}, 64, "parameter w has shape [3, 0]");
  ExpectRefused({Spec("w", {-3})}, 64, "parameter w has shape [-3]");
  ExpectRefused({Spec("w", std::vector<int64_t>(kMaxDimensions + 1, 1))}, 64, "17 dimensions");
  EXPECT_TRUE(Layout::Create({Spec(std::string(kMaxNameBytes, 'x'), {1})}, 64).ok());
  EXPECT_TRUE(Layout::Create({Spec("w", std::vector<int64_t>(kMaxDimensions, 1))}, 64).ok());
}

TEST(Layout, ChunkSizesThatCutBlocksAreRefused) {
  ExpectRefused(Example(), 0, "chunk_params is 0");
  ExpectRefused(Example(), 65, "chunk_params is 65");
  ExpectRefused(Example(), std::numeric_limits<size_t>::max() - 63, "the limit is");
}

TEST(Layout, ShapesWhoseProductOverflowsAreRefused) {
  const int64_t two32 = int64_t{1} << 32;
  ExpectRefused({Spec("w", {two32, two32})}, 64, "parameter w with shape");  // product wraps to 0
  ExpectRefused({Spec("w", {two32, two32, 3})}, 64, "parameter w with shape");
  ExpectRefused({Spec("w", {std::numeric_limits<int64_t>::max(), 2})}, 64, "has more than");
  ExpectRefused({Spec("w", {int64_t{1} << 40, 2})}, size_t{1} << 30, "has more than");
}

TEST(Layout, TotalsBeyondTheBoundAreRefusedAndTheBoundItselfIsNot) {
  const int64_t half = int64_t{1} << 39;
  EXPECT_TRUE(Layout::Create({Spec("a", {half}), Spec("b", {half})}, size_t{1} << 20).ok());
  ExpectRefused({Spec("a", {half}), Spec("b", {half}), Spec("c", {})}, size_t{1} << 20,
                "with parameter c the layout has more than");
}

TEST(Layout, TooManyChunksAreRefused) {
  const auto most = static_cast<int64_t>(kMaxChunks * kBlockParams);
  EXPECT_EQ(Make({Spec("w", {most})}).num_chunks(), kMaxChunks);
  ExpectRefused({Spec("w", {most + 1})}, 64, "are 1048577 chunks");
}

TEST(Layout, TooManyParametersAreRefused) {
  std::vector<ParameterSpec> parameters;
  for (size_t i = 0; i <= kMaxParameters; ++i)
    parameters.push_back(Spec("p" + std::to_string(i), {}));
  ExpectRefused(parameters, 64, "a layout of 100001 parameters");
  parameters.pop_back();
  EXPECT_EQ(Make(parameters).total_params(), kMaxParameters);
}

TEST(LayoutDeathTest, ChunksAndPositionsOutsideAbort) {
  const Layout layout = Make(Example());
  EXPECT_DEATH(layout.chunk(3), "chunk 3 of 3");
  EXPECT_DEATH(layout.ParameterAt(182), "position 182 of 182");
}

}  // namespace
}  // namespace interlude
