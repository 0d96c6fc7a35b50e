// Ranks that compute together, in threads, through Gloo: against one trainer that sees the whole
// batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <future>

#include "train/rank_group.h"
#include "train/test_images.h"
#include "train/trainer_factory.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;

constexpr Nanoseconds kLong = std::chrono::minutes(4);

/// One rank.
struct Rank {
  std::unique_ptr<RankGroup> group;
  std::unique_ptr<LocalTrainer> trainer;
};

class RankTrainingTest : public ::testing::TestWithParam<ModelKind> {
 protected:
  RankTrainingTest() : config_(TinyImageRun(GetParam())) {}
  ~RankTrainingTest() override {
    ranks_.clear();
    for (const std::string& directory : directories_) std::filesystem::remove_all(directory);
  }

  std::unique_ptr<LocalTrainer> Single(uint32_t worker = 0, uint32_t workers = 1) const {
    auto trainer = CreateTorchTrainer(config_, worker, workers, 1);
    EXPECT_TRUE(trainer.ok()) << trainer.status().ToString();
    return *std::move(trainer);
  }

  /// What `body` returns for each rank, all at once.
  template <typename Body>
  auto OnAll(const Body& body) {
    std::vector<std::future<decltype(body(ranks_[0]))>> futures;
    for (Rank& rank : ranks_)
      futures.push_back(std::async(std::launch::async, [&] { return body(rank); }));
    std::vector<decltype(body(ranks_[0]))> results;
    for (auto& future : futures) results.push_back(future.get());
    return results;
  }

  /// Makes so many ranks, and connects them.
  void Start(uint32_t count, uint32_t worker = 0, uint32_t workers = 1) {
    ranks_.clear();
    std::string directory = testing::TempDir() + "/ranks-XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    directories_.push_back(directory);
    RankPlace place{.devices = std::vector<std::string>(count, config_.train.device),
                    .directory = directory,
                    .timeout = kLong};
    for (place.rank = 0; place.rank < count; ++place.rank) {
      Rank rank;
      rank.group = *CreateRankGroup(place);
      auto trainer = CreateTorchTrainer(config_, worker, workers, 1, rank.group.get());
      ASSERT_TRUE(trainer.ok()) << trainer.status().ToString();
      rank.trainer = *std::move(trainer);
      ranks_.push_back(std::move(rank));
    }
    for (const Status& status : OnAll([](Rank& rank) { return rank.group->Connect(); }))
      ASSERT_TRUE(status.ok()) << status.ToString();
  }

  auto Train(uint32_t round) {
    return OnAll([&](Rank& rank) { return rank.trainer->TrainRound(Request(round), nullptr); });
  }
  static TrainRequest Request(uint32_t round) {
    return {.round = round, .first_step = uint64_t{round - 1} * 5, .local_steps = 5};
  }

  RunConfig config_;
  std::vector<std::string> directories_;
  std::vector<Rank> ranks_;
};

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

double LargestDifference(std::span<const float> a, std::span<const float> b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  return largest;
}

TEST_P(RankTrainingTest, TwoRanksAreOneWorkerUpToRounding) {
  // AdamW divides by the gradient's size, so that where it is all but 0 a difference in the last
  // bit is as large as the step; SGD shows what the gradients are.
  config_.train.optimizer = LocalOptimizerKind::kSgd;
  config_.train.learning_rate = 0.05;
  config_.train.clip_norm = 1;
  config_.train.label_smoothing = 0.1;
  const auto single = Single();
  Start(2);
  for (uint32_t round = 1; round <= 4; ++round) {
    const auto one = single->TrainRound(Request(round), nullptr);
    const auto two = Train(round);
    for (size_t r = 0; r < 2; ++r) {
      ASSERT_TRUE(two[r].ok()) << two[r].status().ToString();
      EXPECT_EQ(two[r]->samples, one->samples);
      EXPECT_NEAR(two[r]->mean_loss, one->mean_loss, 1e-5);
    }
    EXPECT_LT(LargestDifference(ranks_[0].trainer->parameters(), single->parameters()), 1e-5);
    EXPECT_TRUE(SameBits(ranks_[0].trainer->parameters(), ranks_[1].trainer->parameters()));
  }
}

TEST_P(RankTrainingTest, FourRanksOfTheSecondWorkerSeeThatWorkersSamples) {
  config_.train.optimizer = LocalOptimizerKind::kSgd;
  config_.train.learning_rate = 0.05;
  const auto single = Single(1, 2);
  const auto other = Single(0, 2);
  Start(4, 1, 2);
  ASSERT_TRUE(single->TrainRound(Request(1), nullptr).ok());
  ASSERT_TRUE(other->TrainRound(Request(1), nullptr).ok());
  ASSERT_TRUE(Train(1)[3].ok());
  EXPECT_LT(LargestDifference(ranks_[0].trainer->parameters(), single->parameters()), 1e-5);
  EXPECT_GT(LargestDifference(ranks_[0].trainer->parameters(), other->parameters()), 1e-3);
}

TEST_P(RankTrainingTest, WhatTheWorkerWritesToRankZeroIsWhatAllTrainFrom) {
  config_.train.optimizer = LocalOptimizerKind::kSgd;
  const auto single = Single();
  Start(2);
  for (float& value : ranks_[0].trainer->parameters()) value *= 0.5f;
  for (float& value : single->parameters()) value *= 0.5f;
  ASSERT_TRUE(single->TrainRound(Request(1), nullptr).ok());
  ASSERT_TRUE(Train(1)[0].ok());
  EXPECT_LT(LargestDifference(ranks_[1].trainer->parameters(), single->parameters()), 1e-5);
}

TEST_P(RankTrainingTest, DropoutAndMixupStillGiveAllRanksTheSameBitsEachTime) {
  config_.model.dropout = GetParam() == ModelKind::kVit ? 0.2 : 0;
  config_.augment.mixup = 0.4;
  config_.train.accumulate = 2;
  std::vector<std::vector<float>> runs;
  for (int run = 0; run < 2; ++run) {
    Start(2);
    for (uint32_t round = 1; round <= 3; ++round) {
      for (const auto& result : Train(round))
        ASSERT_TRUE(result.ok()) << result.status().ToString();
      EXPECT_TRUE(SameBits(ranks_[0].trainer->parameters(), ranks_[1].trainer->parameters()));
    }
    const auto values = ranks_[0].trainer->parameters();
    runs.emplace_back(values.begin(), values.end());
  }
  EXPECT_TRUE(SameBits(runs[0], runs[1]));
}

TEST_P(RankTrainingTest, PartsOfAnEvaluationAddUpToTheWhole) {
  const auto single = Single();
  Start(4);
  const auto whole = single->Evaluate(1, 2);
  ASSERT_TRUE(whole.ok());
  EvaluationResult sum;
  for (const auto& part : OnAll([](Rank& rank) { return rank.trainer->Evaluate(1, 2); })) {
    ASSERT_TRUE(part.ok()) << part.status().ToString();
    EXPECT_LT(part->samples, 10u);
    sum.samples += part->samples;
    sum.correct += part->correct;
    sum.loss_sum += part->loss_sum;
  }
  EXPECT_EQ(sum.samples, whole->samples);
  EXPECT_EQ(sum.correct, whole->correct);
  EXPECT_NEAR(sum.loss_sum, whole->loss_sum, 1e-4);
}

TEST_P(RankTrainingTest, AllStopAtTheSameStepAndGoOnAfterwards) {
  Start(2);
  const auto stopped = OnAll([&](Rank& rank) {
    StepCallback on_step;
    if (rank.group->rank() == 0) on_step = [](uint32_t done, double) { return done < 2; };
    return rank.trainer->TrainRound(Request(1), on_step);
  });
  for (const auto& result : stopped) {
    EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
    EXPECT_THAT(result.status().message(), HasSubstr("after local step 1 of round 1"));
  }
  EXPECT_TRUE(SameBits(ranks_[0].trainer->parameters(), ranks_[1].trainer->parameters()));
  for (const auto& result : Train(2)) EXPECT_TRUE(result.ok()) << result.status().ToString();
}

TEST_P(RankTrainingTest, AStopAfterTheLastStepKeepsNobodyWaiting) {
  Start(2);
  const auto stopped = OnAll([&](Rank& rank) {
    StepCallback on_step;
    if (rank.group->rank() == 0) on_step = [](uint32_t done, double) { return done < 5; };
    return rank.trainer->TrainRound(Request(1), on_step).status();
  });
  EXPECT_EQ(stopped[0].code(), StatusCode::kCancelled);
  EXPECT_TRUE(stopped[1].ok()) << "it has done all of the round";
  for (const auto& result : Train(2)) EXPECT_TRUE(result.ok()) << result.status().ToString();
}

TEST_P(RankTrainingTest, ALossThatIsNotANumberIsEveryRanksError) {
  Start(2);
  ranks_[0].trainer->parameters()[3] = std::nanf("");
  for (const auto& result : Train(1)) {
    EXPECT_EQ(result.status().code(), StatusCode::kDataLoss);
    EXPECT_THAT(result.status().message(), HasSubstr("is nan at local step 0 (round 1)"));
  }
}

TEST_P(RankTrainingTest, ARankThatIsGoneEndsTheOthersWaitAtOnce) {
  Start(2);
  const auto ended = OnAll([&](Rank& rank) -> Status {
    if (rank.group->rank() == 1) {
      rank.trainer.reset();
      rank.group.reset();
      return OkStatus();
    }
    return rank.trainer->TrainRound(Request(1), nullptr).status();
  });
  EXPECT_EQ(ended[0].code(), StatusCode::kAborted) << ended[0].ToString();
  EXPECT_THAT(ended[0].message(), HasSubstr("the ranks' common operation failed"));
  EXPECT_EQ(ranks_[0].trainer->TrainRound(Request(1), nullptr).status().code(),
            StatusCode::kAborted);
}

TEST_P(RankTrainingTest, ParametersThatWentApartAreNoticed) {
  Start(2);
  const auto ended = OnAll([&](Rank& rank) {
    StepCallback on_step;
    if (rank.group->rank() == 1) {
      on_step = [&rank](uint32_t done, double) {
        if (done == 5) rank.trainer->parameters()[7] += 1e-6f;
        return true;
      };
    }
    return rank.trainer->TrainRound(Request(1), on_step).status();
  });
  EXPECT_TRUE(ended[0].ok());
  EXPECT_EQ(ended[1].code(), StatusCode::kDataLoss);
  EXPECT_THAT(ended[1].message(), HasSubstr("after round 1 the parameters of rank 1 hash to"));
}

TEST_P(RankTrainingTest, ABatchMustDivide) {
  config_.train.batch = 21;
  const auto group = *CreateRankGroup({.devices = {"cpu", "cpu"}, .timeout = kLong});
  const auto trainer = CreateTorchTrainer(config_, 0, 1, 1, group.get());
  EXPECT_EQ(trainer.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(trainer.status().message(), HasSubstr("train.batch = 21 cannot be divided"));
}

INSTANTIATE_TEST_SUITE_P(Models, RankTrainingTest,
                         ::testing::Values(ModelKind::kVit, ModelKind::kConvNet),
                         [](const auto& tested) {
                           return tested.param == ModelKind::kVit ? "Vit" : "ConvNet";
                         });

}  // namespace
}  // namespace interlude
