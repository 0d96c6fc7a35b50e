#include "bench/exchange_bytes.h"

#include <gtest/gtest.h>

namespace interlude {
namespace {

RunConfig Config(uint64_t params, uint64_t chunk_params) {
  RunConfig config;
  config.model.kind = ModelKind::kSynthetic;
  config.model.synthetic_params = params;
  config.round.chunk_params = chunk_params;
  return config;
}

TEST(ExchangeBytes, CountEachByteOnceAPass) {
  // 6,400 parameters: P = 25,600 bytes, 100 blocks of 34 bytes: E = 3,400.
  const auto stages = ExchangeBytes(Config(6400, 640), 2);
  ASSERT_EQ(stages.size(), 5u);
  EXPECT_EQ(stages[0].stage, "encode");
  EXPECT_EQ(stages[0].read, 2u * 2 * 25'600);
  EXPECT_EQ(stages[0].written, 2u * 3'400);
  EXPECT_EQ(stages[1].stage, "upload");
  EXPECT_EQ(stages[1].total(), 2u * 6 * 3'400);
  EXPECT_EQ(stages[2].stage, "merge");
  EXPECT_EQ(stages[2].read, 2u * 3'400 + 3 * 25'600);
  EXPECT_EQ(stages[2].written, 3'400u + 3 * 25'600);
  EXPECT_EQ(stages[3].stage, "download");
  EXPECT_EQ(stages[3].total(), 2u * 4 * 3'400);
  EXPECT_EQ(stages[4].stage, "apply");
  EXPECT_EQ(stages[4].read, 2u * (25'600 + 3'400));
  EXPECT_EQ(stages[4].written, 2u * 2 * 25'600);
  EXPECT_EQ(SumOf(stages), 2u * (5 * 25'600 + 2 * 3'400 + 10 * 3'400) + 6 * 25'600 + 3 * 3'400);
}

TEST(ExchangeBytes, FollowTheConfiguration) {
  RunConfig config = Config(6400, 640);
  const uint64_t plain = SumOf(ExchangeBytes(config, 1));
  config.round.error_feedback = true;
  EXPECT_EQ(SumOf(ExchangeBytes(config, 1)), plain + 2 * 25'600) << "the worker's residual";
  config.round.error_feedback = false;
  config.outer.optimizer = OuterOptimizerKind::kAdam;
  EXPECT_EQ(SumOf(ExchangeBytes(config, 1)), plain + 2 * 25'600) << "a second moment";
  config.outer.optimizer = OuterOptimizerKind::kNesterov;
  config.round.codec = CodecKind::kQ8;
  EXPECT_EQ(ModelPayloadBytes(config), 100u * 66);
  EXPECT_EQ(ExchangeBytes(config, 1)[2].read, 100u * 66 + 3 * 25'600);
  config.round.codec = CodecKind::kFp32;
  EXPECT_EQ(ModelPayloadBytes(config), 25'600u);
  EXPECT_EQ(ExchangeBytes(config, 1)[2].read, 25'600u + 2 * 25'600) << "no residual";
}

TEST(ExchangeBytes, OfAShortLastChunkAreCountedAsItIsEncoded) {
  // The last chunk's 10 values take a whole block.
  EXPECT_EQ(ModelPayloadBytes(Config(650, 640)), 11u * 34);
  EXPECT_EQ(ModelPayloadBytes(Config(10, 640)), 34u);
}

TEST(ExchangeNeeds, GrowWithWhatIsKept) {
  RunConfig config = Config(100'000'000, 1 << 20);
  const uint64_t p = 400'000'000;
  const uint64_t e = ModelPayloadBytes(config);
  const ExchangeNeeds plain = NeedsOf(config, 2);
  EXPECT_GE(plain.coordinator_memory, 3 * p);
  EXPECT_GE(plain.worker_memory, 2 * p + e);
  EXPECT_EQ(plain.disk, 2u * 3 * e + p);
  config.round.exchange = ExchangeMode::kBarrier;
  config.round.persistence = PersistenceMode::kEveryRound;
  EXPECT_EQ(NeedsOf(config, 2).worker_memory, plain.worker_memory + e);
  EXPECT_EQ(NeedsOf(config, 2).disk, plain.disk + 2 * p);
}

}  // namespace
}  // namespace interlude
