// What becomes of deltas that the round went on without.
#include "worker/worker_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "worker/synthetic_trainer.h"

namespace interlude {
namespace {

class WorkerModelTest : public testing::TestWithParam<CodecKind> {
 protected:
  WorkerModelTest() {
    RunConfig config;
    config.model.kind = ModelKind::kSynthetic;
    config.model.synthetic_params = 200;
    config.round.chunk_params = 128;
    config.round.codec = GetParam();
    config.round.error_feedback = true;
    trainer_ = CreateSyntheticTrainer(config, 0, 1).value();
    model_ = WorkerModel::Create(*trainer_, config.round, 1).value();
    base_.assign(trainer_->parameters().begin(), trainer_->parameters().end());
  }

  std::span<float> parameters() { return trainer_->parameters(); }
  /// Training moves every parameter by `step`.
  void Train(float step) {
    model_->BeginTraining();
    for (float& value : parameters()) value += step;
  }
  /// A sync delta that moves nothing.
  std::vector<std::byte> Zeros(uint32_t chunk) {
    const size_t count = model_->layout().chunk(chunk).count;
    std::vector<std::byte> payload(EncodedBytes(model_->codec(), count));
    std::vector<float> base(count);
    EncodeUpdate(model_->codec(), std::vector<float>(count), {}, base, payload);
    return payload;
  }
  /// What the next delta of the chunk decodes to, when training moved nothing.
  std::vector<float> NextDelta(uint32_t chunk) {
    model_->BeginTraining();
    Hash128 hash;
    EXPECT_FALSE(model_->Encode(chunk, hash).first_nonfinite);
    std::vector<float> values(model_->layout().chunk(chunk).count);
    const std::span<const std::byte> payload = model_->payload(chunk);
    const float weight = 1;
    DecodeAverage(model_->codec(), {&payload, 1}, {&weight, 1}, values);
    return values;
  }

  std::unique_ptr<LocalTrainer> trainer_;
  std::unique_ptr<WorkerModel> model_;
  std::vector<float> base_;
};

INSTANTIATE_TEST_SUITE_P(EveryCodec, WorkerModelTest,
                         testing::Values(CodecKind::kQ4, CodecKind::kQ8, CodecKind::kFp32));

TEST_P(WorkerModelTest, ADeltaThatWasMergedIsGone) {
  Train(0.25f);
  Hash128 hash;
  model_->Encode(0, hash);
  model_->ApplySync(0, Zeros(0), 1, /*dropped=*/false);
  EXPECT_EQ(model_->base_round(0), 1u);
  EXPECT_EQ(parameters()[5], base_[5]);
  for (const float value : NextDelta(0)) EXPECT_LT(std::abs(value), 0.02f);
}

TEST_P(WorkerModelTest, AnEncodedDeltaThatWasDroppedIsSentWithTheNextOne) {
  Train(0.25f);
  Hash128 hash;
  model_->Encode(0, hash);
  model_->ApplySync(0, Zeros(0), 1, /*dropped=*/true);
  EXPECT_EQ(parameters()[5], base_[5]) << "the base is the run's all the same";
  for (const float value : NextDelta(0)) EXPECT_NEAR(value, 0.25f, 0.01f);
}

TEST_P(WorkerModelTest, ATrainingThatWasCutOffIsSentWithTheNextDelta) {
  Train(0.25f);
  model_->ApplySync(0, Zeros(0), 1, /*dropped=*/true);
  model_->Settle();  // chunk 1, of which nothing was heard
  for (size_t i = 0; i < base_.size(); ++i) ASSERT_EQ(parameters()[i], base_[i]) << i;
  for (const uint32_t chunk : {0u, 1u}) {
    for (const float value : NextDelta(chunk)) EXPECT_NEAR(value, 0.25f, 0.01f) << chunk;
  }
}

TEST_P(WorkerModelTest, WhatIsNotFiniteIsNotCarriedOver) {
  Train(0.25f);
  parameters()[7] = std::numeric_limits<float>::quiet_NaN();
  parameters()[9] = std::numeric_limits<float>::infinity();
  model_->Settle();
  const std::vector<float> next = NextDelta(0);
  for (const size_t bad : {7u, 9u}) EXPECT_LT(std::abs(next[bad]), 0.02f);
  EXPECT_NEAR(next[8], 0.25f, 0.01f);
}

TEST_P(WorkerModelTest, AChunkThatIsReplacedForgetsItsDeltaAndKnowsItsRound) {
  Train(0.25f);
  std::vector<float> other(model_->layout().chunk(1).count, 3.0f);
  EXPECT_TRUE(model_->ReplaceBase(1, std::as_bytes(std::span(other)), 6).ok());
  EXPECT_EQ(model_->ChunksAt(6), std::vector<uint32_t>{1});
  for (const float value : NextDelta(1)) EXPECT_EQ(value, 0);
}

}  // namespace
}  // namespace interlude
