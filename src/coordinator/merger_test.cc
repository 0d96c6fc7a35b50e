#include "coordinator/merger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/rng.h"

namespace interlude {
namespace {

Layout SmallLayout() {
  return Layout::Create({{.name = "a", .shape = {100}}, {.name = "b", .shape = {3, 50}}}, 128)
      .value();
}

RunConfig Config(CodecKind codec) {
  RunConfig config;
  config.round.codec = codec;
  config.round.chunk_params = 128;
  return config;
}

std::vector<float> Noise(size_t count, uint64_t seed, float size) {
  Rng rng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = (rng.Uniform() - 0.5f) * size;
  return values;
}

std::vector<std::byte> EncodeOf(Codec codec, const std::vector<float>& delta) {
  const std::vector<float> zero(delta.size());
  std::vector<std::byte> payload(EncodedBytes(codec, delta.size()));
  Hash128 hash;
  EncodeDelta(codec, delta, zero, {}, payload, hash);
  return payload;
}

class MergerTest : public testing::TestWithParam<CodecKind> {};

TEST_P(MergerTest, AWorkerThatAppliesTheSyncChunkHoldsTheCoordinatorsBase) {
  const RunConfig config = Config(GetParam());
  auto merger = Merger::Create(SmallLayout(), config).value();
  const std::vector<float> start = Noise(250, 1, 1.0f);
  std::memcpy(merger->BaseChunkBytes(0).data(), start.data(), 128 * 4);
  std::memcpy(merger->BaseChunkBytes(1).data(), start.data() + 128, 122 * 4);
  ASSERT_TRUE(merger->HashBase().ok());

  std::vector<float> copy = start;
  std::vector<float> parameters(250);
  for (uint32_t round = 1; round <= 5; ++round) {
    PhaseTimer timer(Phase::kMerge, round, kNoWorker, SystemClock());
    for (uint32_t chunk = 0; chunk < 2; ++chunk) {
      const ChunkRange range = merger->layout().chunk(chunk);
      const auto first = EncodeOf(merger->codec(), Noise(range.count, round * 10 + chunk, 1e-2f));
      const auto second =
          EncodeOf(merger->codec(), Noise(range.count, round * 10 + chunk + 5, 1e-2f));
      std::vector<std::byte> sync(EncodedBytes(merger->codec(), range.count));
      const MergeOrder order{round, chunk, {{0, 100}, {1, 300}}};
      const auto hashes = merger->MergeChunk(order, {first, second}, sync, timer);
      ASSERT_TRUE(hashes.ok());
      EXPECT_EQ(hashes->payload, HashBytes(sync));
      EXPECT_EQ(hashes->base, merger->chunk_hashes()[chunk]);
      const std::span<float> mine = std::span(copy).subspan(range.begin, range.count);
      EXPECT_EQ(ApplyAndHash(merger->codec(), sync, mine,
                             std::span(parameters).subspan(range.begin, range.count)),
                merger->chunk_hashes()[chunk]);
    }
    EXPECT_EQ(timer.Finish().chunks, 2u);
    EXPECT_EQ(std::memcmp(copy.data(), merger->base().data(), copy.size() * 4), 0)
        << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, MergerTest,
                         testing::Values(CodecKind::kQ4, CodecKind::kQ8, CodecKind::kFp32));

TEST(Merger, WeighsDeltasBySamples) {
  RunConfig config = Config(CodecKind::kFp32);
  config.outer.optimizer = OuterOptimizerKind::kSgd;
  config.outer.learning_rate = 1.0;
  auto merger = Merger::Create(SmallLayout(), config).value();
  const auto one = EncodeOf(Codec::kFp32, std::vector<float>(128, 1.0f));
  const auto five = EncodeOf(Codec::kFp32, std::vector<float>(128, 5.0f));
  std::vector<std::byte> sync(EncodedBytes(Codec::kFp32, 128));
  PhaseTimer timer(Phase::kMerge, 1, kNoWorker, SystemClock());
  ASSERT_TRUE(merger->MergeChunk({1, 0, {{0, 300}, {1, 100}}}, {one, five}, sync, timer).ok());
  for (size_t i = 0; i < 128; ++i) EXPECT_EQ(merger->base()[i], 2.0f) << "(3 * 1 + 1 * 5) / 4";
}

TEST(Merger, KeepsAMovingAverageOfTheBaseBesideTheOuterState) {
  for (const OuterOptimizerKind optimizer :
       {OuterOptimizerKind::kNesterov, OuterOptimizerKind::kSgd, OuterOptimizerKind::kAdam}) {
    RunConfig config = Config(CodecKind::kQ4);
    config.outer.optimizer = optimizer;
    auto plain = Merger::Create(SmallLayout(), config).value();
    config.outer.ema_decay = 0.6;
    auto averaging = Merger::Create(SmallLayout(), config).value();
    EXPECT_FALSE(plain->has_average());
    ASSERT_TRUE(averaging->has_average());
    EXPECT_EQ(averaging->state_per_param(), plain->state_per_param() + 1);
    std::vector<double> expected(128, 0.0);
    double weights = 0;
    for (uint32_t round = 1; round <= 6; ++round) {
      // Nobody contributes to round 4; the average goes on.
      std::vector<std::vector<std::byte>> payloads;
      if (round != 4) payloads.push_back(EncodeOf(Codec::kQ4, Noise(128, round, 1e-2f)));
      const std::vector<std::span<const std::byte>> spans(payloads.begin(), payloads.end());
      MergeOrder order{round, 0, {}};
      if (round != 4) order.contributors = {{0, 100}};
      std::vector<std::byte> sync(EncodedBytes(Codec::kQ4, 128));
      PhaseTimer timer(Phase::kMerge, round, kNoWorker, SystemClock());
      const auto without = plain->MergeChunk(order, spans, sync, timer);
      const auto with = averaging->MergeChunk(order, spans, sync, timer);
      ASSERT_TRUE(without.ok() && with.ok());
      EXPECT_EQ(without->base, with->base) << "the average changes nothing";
      weights = 0.6 * weights + 1;
      std::vector<float> average(128);
      averaging->CopyAverage(0, round, average);
      for (size_t i = 0; i < 128; ++i) {
        expected[i] = 0.6 * expected[i] + averaging->base()[i];
        ASSERT_NEAR(average[i], expected[i] / weights, 1e-6);
      }
    }
  }
}

TEST(Merger, RefusesAFirstBaseThatIsNotFiniteAndNamesTheParameter) {
  auto merger = Merger::Create(SmallLayout(), Config(CodecKind::kQ4)).value();
  const float bad = std::numeric_limits<float>::infinity();
  std::memcpy(merger->BaseChunkBytes(0).data() + 103 * 4, &bad, 4);
  const Status status = merger->HashBase();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), testing::HasSubstr("b[0, 3]"));
}

TEST(Merger, AnUpdateThatIsNotFiniteIsAnErrorThatNamesTheParameter) {
  RunConfig config = Config(CodecKind::kQ4);
  config.outer.learning_rate = 3e38;
  auto merger = Merger::Create(SmallLayout(), config).value();
  const auto delta = EncodeOf(Codec::kQ4, std::vector<float>(128, 1e30f));
  std::vector<std::byte> sync(EncodedBytes(Codec::kQ4, 128));
  PhaseTimer timer(Phase::kMerge, 1, kNoWorker, SystemClock());
  const Status status = merger->MergeChunk({4, 0, {{0, 1}}}, {delta}, sync, timer).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), testing::HasSubstr("round 4"));
  EXPECT_THAT(status.message(), testing::HasSubstr("a[0]"));
}

}  // namespace
}  // namespace interlude
