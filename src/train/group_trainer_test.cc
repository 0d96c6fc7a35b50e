// Rank 0's trainer and the loop of the others, in threads, with trainers that compute nothing.
#include "train/group_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "train/rank_messages.h"

namespace interlude {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Nanoseconds kLong = std::chrono::minutes(5);

class FakeGroup final : public RankGroup {
 public:
  FakeGroup(uint32_t rank, uint32_t ranks)
      : RankGroup({.rank = rank, .devices = std::vector<std::string>(ranks, "cpu")}) {}
  Status Connect() override { return OkStatus(); }
  Status Broadcast(at::Tensor&) override { return InternalError("not in this test"); }
  Status Sum(at::Tensor&) override { return InternalError("not in this test"); }
};

/// What a trainer is to do, and what it was told. Outlives its thread, whose end is no order of
/// memory to ThreadSanitizer.
struct Fake {
  Status train;
  EvaluationResult evaluation;
  std::vector<uint32_t> rounds;
  std::vector<std::pair<uint32_t, uint32_t>> parts_seen;
};

class FakeTrainer final : public LocalTrainer {
 public:
  explicit FakeTrainer(Fake& fake) : fake_(fake) {}

  const Layout& layout() const override { return no_layout_; }
  std::span<float> parameters() override { return {}; }
  StatusOr<TrainResult> TrainRound(const TrainRequest& request,
                                   const StepCallback& on_step) override {
    fake_.rounds.push_back(request.round);
    if (on_step && !on_step(1, 0.5)) return CancelledError("stopped");
    if (!fake_.train.ok()) return fake_.train;
    return TrainResult{.samples = 100 * request.local_steps, .mean_loss = 0.5};
  }
  StatusOr<EvaluationResult> Evaluate(uint32_t part, uint32_t parts) override {
    fake_.parts_seen.emplace_back(part, parts);
    return fake_.evaluation;
  }

 private:
  Fake& fake_;
  Layout no_layout_;
};

/// Rank 0 here, the others in threads.
class GroupTrainerTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kRanks = 3;

  ~GroupTrainerTest() override {
    group_.reset();
    for (std::thread& thread : threads_) thread.join();
  }

  /// A rank that serves until its channel ends, which is then its death.
  RankLink Serving(uint32_t rank, StatusOr<std::unique_ptr<LocalTrainer>> trainer) {
    auto ends = *RankChannel::MakePair();
    auto ended = std::make_shared<std::promise<Status>>();
    ended_.push_back(ended->get_future());
    threads_.emplace_back(
        [rank, ended, channel = std::move(ends.second), mine = std::move(trainer)]() mutable {
          FakeGroup group(rank, kRanks);
          ended->set_value(ServeRank(channel, group, std::move(mine)));
          const RankChannel closed = std::move(channel);
        });
    return Link(rank, std::move(ends.first));
  }
  static RankLink Link(uint32_t rank, RankChannel channel) {
    return {.name = fmt::format("rank {}", rank),
            .channel = std::move(channel),
            .how_it_ended = [] { return "killed by signal 9 (Killed)"; }};
  }

  std::unique_ptr<LocalTrainer> Trainer(uint32_t rank) {
    return std::make_unique<FakeTrainer>(fakes_[rank]);
  }

  /// With ranks 1 and 2 serving.
  void Start() {
    std::vector<RankLink> others;
    for (uint32_t rank = 1; rank < kRanks; ++rank) others.push_back(Serving(rank, Trainer(rank)));
    Make(std::move(others), kLong);
  }
  void Make(std::vector<RankLink> others, Nanoseconds timeout) {
    const auto ranks = static_cast<uint32_t>(others.size() + 1);
    auto made = CreateGroupTrainer(std::make_unique<FakeGroup>(0, ranks), Trainer(0),
                                   std::move(others), timeout);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    group_ = *std::move(made);
  }
  /// With rank 1 at the test's own hand, ready and connected.
  void StartByHand(Nanoseconds timeout) {
    auto ends = *RankChannel::MakePair();
    hand_.emplace(std::move(ends.second));
    ASSERT_TRUE(hand_->Send(Answer(OkStatus())).ok());
    ASSERT_TRUE(hand_->Send(Answer(OkStatus())).ok());
    std::vector<RankLink> others;
    others.push_back(Link(1, std::move(ends.first)));
    Make(std::move(others), timeout);
  }

  Status Train(uint32_t round, const StepCallback& on_step = nullptr) {
    return group_->TrainRound({.round = round, .local_steps = 2}, on_step).status();
  }

  std::array<Fake, kRanks> fakes_;
  std::vector<std::future<Status>> ended_;
  std::vector<std::thread> threads_;
  std::optional<RankChannel> hand_;
  std::unique_ptr<LocalTrainer> group_;
};

TEST_F(GroupTrainerTest, EveryRankTrainsEveryRoundAndRankZerosResultIsTheWorkers) {
  Start();
  for (const uint32_t round : {1u, 2u, 5u}) {
    const auto result = group_->TrainRound({.round = round, .local_steps = 4}, nullptr);
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    EXPECT_EQ(result->samples, 400u);
  }
  for (const Fake& fake : fakes_) EXPECT_THAT(fake.rounds, ElementsAre(1, 2, 5));
}

TEST_F(GroupTrainerTest, AnEvaluationIsTheSumOfAllRanks) {
  Start();
  fakes_[0].evaluation = {5, 10, 1.5, 3, 7, {{0, 0, 5}, {2, 1, 5}}};
  fakes_[1].evaluation = {1, 8, 0.25, 3, 3, {{0, 1, 7}, {1, 1, 1}}};
  fakes_[2].evaluation = {2, 4, 0.5, 3, 4, {{0, 0, 2}, {2, 1, 2}}};
  const auto sum = group_->Evaluate(1, 2);
  ASSERT_TRUE(sum.ok()) << sum.status().ToString();
  EXPECT_EQ(sum->correct, 8u);
  EXPECT_EQ(sum->samples, 22u);
  EXPECT_EQ(sum->loss_sum, 2.25);
  EXPECT_EQ(sum->classes, 3u);
  EXPECT_EQ(sum->top5, 14u);
  EXPECT_EQ(sum->confusion, (Confusion{{0, 0, 7}, {0, 1, 7}, {1, 1, 1}, {2, 1, 7}}));
  for (const Fake& fake : fakes_) EXPECT_THAT(fake.parts_seen, ElementsAre(std::pair(1u, 2u)));
}

TEST_F(GroupTrainerTest, AStopThatAllKnowOfIsNoFailure) {
  Start();
  for (const uint32_t rank : {1u, 2u}) fakes_[rank].train = CancelledError("stopped");
  EXPECT_EQ(Train(1, [](uint32_t, double) { return false; }).code(), StatusCode::kCancelled);
  for (const uint32_t rank : {1u, 2u}) fakes_[rank].train = OkStatus();
  EXPECT_EQ(Train(2, [](uint32_t, double) { return false; }).code(), StatusCode::kCancelled)
      << "after the last step the others do not hear of it";
  EXPECT_TRUE(Train(3).ok());
}

TEST_F(GroupTrainerTest, ARanksOwnErrorIsNamedAndTheOthersFollow) {
  Start();
  fakes_[0].train = AbortedError("connection closed");
  fakes_[1].train = AbortedError("connection closed");
  fakes_[2].train = DataLossError("cat.jpg is damaged");
  const Status failed = Train(1);
  EXPECT_EQ(failed.code(), StatusCode::kDataLoss);
  EXPECT_EQ(failed.message(), "rank 2: cat.jpg is damaged");
  EXPECT_EQ(Train(2), failed) << "it is over";
  EXPECT_EQ(group_->Evaluate(0, 1).status(), failed);
  EXPECT_EQ(ended_[0].get().code(), StatusCode::kAborted);
  EXPECT_EQ(ended_[1].get().code(), StatusCode::kDataLoss);
}

TEST_F(GroupTrainerTest, RankZerosOwnErrorIsNotDressedUp) {
  Start();
  fakes_[0].train = DataLossError("the loss became nan");
  fakes_[1].train = DataLossError("the loss became nan");
  EXPECT_EQ(Train(1).message(), "the loss became nan");
}

TEST_F(GroupTrainerTest, TheOthersEndWellWhenRankZeroIsGone) {
  Start();
  ASSERT_TRUE(Train(1).ok());
  group_.reset();
  for (auto& ended : ended_) EXPECT_TRUE(ended.get().ok());
}

TEST_F(GroupTrainerTest, ARankThatCannotBeginIsNamed) {
  std::vector<RankLink> others;
  others.push_back(Serving(1, FailedPreconditionError("there is no cuda:1")));
  const auto made =
      CreateGroupTrainer(std::make_unique<FakeGroup>(0, 2), Trainer(0), std::move(others), kLong);
  EXPECT_EQ(made.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(made.status().message(), "rank 1: there is no cuda:1");
}

TEST_F(GroupTrainerTest, ADeadRankIsNamedWithItsEnd) {
  StartByHand(kLong);
  fakes_[0].train = AbortedError("connection closed by another rank");
  hand_.reset();
  EXPECT_THAT(Train(1).message(),
              HasSubstr("rank 1 of this worker has ended: killed by signal 9 (Killed)"));
  EXPECT_THAT(Train(2).message(), HasSubstr("rank 1 of this worker has ended"));
}

TEST_F(GroupTrainerTest, ASilentRankIsNamedAfterTheTimeout) {
  StartByHand(std::chrono::milliseconds(1));
  EXPECT_THAT(Train(1).message(), AllOf(HasSubstr("no answer from rank 1 of this worker within"),
                                        HasSubstr("--rank-timeout")));
}

TEST_F(GroupTrainerTest, ALostOperationThatNobodyExplainsIsStillAnError) {
  StartByHand(kLong);
  fakes_[0].train = AbortedError("timed out");
  ASSERT_TRUE(hand_->Send(Answer(AbortedError("timed out, too"))).ok());
  EXPECT_EQ(Train(1).message(), "timed out");
}

}  // namespace
}  // namespace interlude
