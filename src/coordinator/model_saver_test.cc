#include "coordinator/model_saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "coordinator/service_test_support.h"
#include "store/safetensors.h"

namespace interlude {
namespace {

class ModelSaverTest : public testing::Test {
 protected:
  ModelSaverTest() {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    RunConfig config;
    config.round.codec = CodecKind::kFp32;
    config.round.chunk_params = 256;
    merger_ = Merger::Create(TestLayout(), config).value();
    for (uint32_t round = 1; round <= 2; ++round) MergeAll(round);
  }
  ~ModelSaverTest() override { std::filesystem::remove_all(directory_); }

  void Merge(uint32_t round, uint32_t chunk) {
    const std::vector<float> delta(TestLayout().chunk(chunk).count, 0.25f * round);
    const auto payload = std::as_bytes(std::span(delta));
    std::vector<std::byte> sync(payload.size());
    PhaseTimer timer(Phase::kMerge, round, kNoWorker, SystemClock());
    ASSERT_TRUE(merger_->MergeChunk({round, chunk, {{0, 1}}}, {payload}, sync, timer).ok());
  }
  void MergeAll(uint32_t round) {
    for (uint32_t chunk = 0; chunk < TestLayout().num_chunks(); ++chunk) Merge(round, chunk);
  }
  std::vector<float> Base() const { return {merger_->base().begin(), merger_->base().end()}; }

  std::vector<float> Saved() const {
    std::vector<float> values(TestLayout().total_params());
    const auto header = ReadSafetensorsHeader(path_);
    EXPECT_TRUE(header.ok()) << header.status().ToString();
    if (!header.ok()) return {};
    size_t at = 0;
    for (const SafetensorsEntry& entry : header->entries) {
      const size_t count = (entry.end - entry.begin) / sizeof(float);
      EXPECT_TRUE(
          ReadSafetensorsFloats(path_, *header, entry, 0, std::span(values).subspan(at, count))
              .ok());
      at += count;
    }
    return values;
  }

  const std::string directory_ = TestDirectory("model-saver");
  const std::string path_ = directory_ + "/model-best.safetensors";
  std::unique_ptr<Merger> merger_;
};

TEST_F(ModelSaverTest, WhatIsSavedIsTheBaseBeforeTheMergesThatFollow) {
  ModelSaver saver(path_, *merger_);
  for (uint32_t round = 2; round < 12; ++round) {
    const std::vector<float> before = Base();
    ASSERT_TRUE(saver.Begin(round, 0.5, {{"rounds", std::to_string(round)}}));
    MergeAll(round + 1);  // beside the saver's thread
    saver.Await();
    EXPECT_EQ(Saved(), before) << round;
    EXPECT_EQ(ReadSafetensorsHeader(path_)->metadata.at("rounds"), std::to_string(round));
  }
}

TEST_F(ModelSaverTest, AMergeWritesTheChunkThatItChangesAndASecondModelWaits) {
  ModelSaver saver(path_, *merger_);
  const std::vector<float> before = Base();
  merger_->LookAtBase(0, [&](uint32_t, uint32_t, std::span<const float>) {
    // The saver's thread cannot come to the first chunk while this looks at it.
    ASSERT_TRUE(saver.Begin(2, 0.5, {}));
    Merge(3, 1);
    EXPECT_FALSE(saver.Begin(2, 0.5, {}));
    EXPECT_FALSE(std::filesystem::exists(path_));
  });
  saver.Await();
  EXPECT_EQ(Saved(), before);
  EXPECT_NE(Base(), before);
}

TEST_F(ModelSaverTest, WhatCannotBeWrittenLeavesTheModelBeforeAndTheRoundsGoOn) {
  ModelSaver saver(path_, *merger_);
  ASSERT_TRUE(saver.Begin(2, 0.5, {}));
  saver.Await();
  const std::vector<float> before = Saved();
  // Not the base that the caller says it is.
  ASSERT_TRUE(saver.Begin(7, 0.75, {}));
  saver.Await();
  EXPECT_EQ(Saved(), before);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".partial"));
  EXPECT_EQ(saver.accuracy(), 0.5) << "of the model that is there";
  // No place for it at all.
  std::filesystem::create_directory(path_ + ".partial");
  ASSERT_TRUE(saver.Begin(2, 0.625, {}));
  EXPECT_EQ(saver.accuracy(), 0.5);
  MergeAll(3);
  saver.Await();
  EXPECT_EQ(Saved(), before);
}

TEST_F(ModelSaverTest, KnowsTheAccuracyOfWhatIsBeingWrittenAndOfWhatIsThere) {
  EXPECT_EQ(ModelSaver(path_, *merger_).accuracy(), std::nullopt);
  ModelSaver saver(path_, *merger_, 0.25);
  EXPECT_EQ(saver.accuracy(), 0.25) << "saved before the coordinator was killed";
  merger_->LookAtBase(0, [&](uint32_t, uint32_t, std::span<const float>) {
    ASSERT_TRUE(saver.Begin(2, 0.5, {}));
    EXPECT_EQ(saver.accuracy(), 0.5);
  });
  saver.Await();
  EXPECT_EQ(saver.accuracy(), 0.5);
}

TEST_F(ModelSaverTest, OneThatIsNotDoneIsGivenUpAtTheEnd) {
  auto saver = std::make_unique<ModelSaver>(path_, *merger_);
  ASSERT_TRUE(saver->Begin(2, 0.5, {}));
  saver.reset();
  EXPECT_FALSE(std::filesystem::exists(path_ + ".partial"));
  MergeAll(3);  // nobody looks on any more
}

}  // namespace
}  // namespace interlude
