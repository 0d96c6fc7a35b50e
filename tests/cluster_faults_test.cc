// What wrong bits and wrong numbers of one worker do to a run over real gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "ledger/run_database.h"
#include "tests/cluster.h"
#include "worker/forwarding_trainer.h"
#include "worker/host_model_copy.h"

namespace interlude {
namespace {

using testing::HasSubstr;

TEST(ClusterFaults, AJoinerWithAFlippedBitIsRepairedByExactlyItsChunk) {
  ClusterOptions options;
  options.workers = 3;
  options.directory = FreshDirectory("flipped");
  options.hook = [](std::unique_ptr<LocalTrainer> trainer, WorkerId worker) {
    return worker == 2 ? FlipOneBit(std::move(trainer), 300) : std::move(trainer);
  };
  ExpectSerialCopies(RunCluster(options), options);
  const auto database = RunDatabase::OpenReadOnly(options.directory + "/run.db");
  ASSERT_TRUE(database.ok());
  std::vector<std::pair<int32_t, std::string>> caught_up;
  for (const EventRecord& event : (*database)->Events().value()) {
    if (event.kind == "catch_up") caught_up.emplace_back(event.worker, event.text);
  }
  EXPECT_THAT(caught_up,
              testing::ElementsAre(testing::Pair(
                  2, HasSubstr("1 chunks of the base and 0 of sync deltas fetched (1024"))));
  std::vector<std::pair<uint32_t, int32_t>> shared;  // round, worker
  for (const Span& span : (*database)->Spans().value()) {
    if (span.phase == Phase::kShareBase) shared.emplace_back(span.round, span.recorded_by);
  }
  EXPECT_THAT(shared, testing::UnorderedElementsAre(std::pair(kBeforeRounds, 0),
                                                    std::pair(kBeforeRounds, 2)));
}

/// A copy of the model in host memory, in which a bit of one chunk's base flips before the
/// chunk's second sync delta is applied.
class LosesABit final : public ModelCopy {
 public:
  LosesABit(LocalTrainer& trainer, const RoundConfig& config, uint32_t chunk)
      : inner_(trainer, Codec::kQ4, config.error_feedback),
        layout_(trainer.layout()),
        chunk_(chunk) {}
  EncodeOutcome Encode(uint32_t chunk, std::span<std::byte> out, Hash128& payload_hash) override {
    return inner_.Encode(chunk, out, payload_hash);
  }
  void Apply(uint32_t chunk, std::span<const std::byte> payload) override {
    if (chunk == chunk_ && ++applied_ == 2) FlipBit();
    inner_.Apply(chunk, payload);
  }
  void CarryOver(uint32_t chunk, std::span<const std::byte> payload) override {
    inner_.CarryOver(chunk, payload);
  }
  Hash128 BaseHash(uint32_t chunk) override { return inner_.BaseHash(chunk); }
  void ReadBase(uint32_t chunk, std::span<std::byte> out) override { inner_.ReadBase(chunk, out); }
  Status ReplaceBase(uint32_t chunk, std::span<const std::byte> fp32_payload) override {
    ++replaced_;
    EXPECT_EQ(chunk, chunk_);
    EXPECT_EQ(replaced_, 1);
    return inner_.ReplaceBase(chunk, fp32_payload);
  }

 private:
  void FlipBit() {
    std::vector<std::byte> base(layout_.chunk(chunk_).count * sizeof(float));
    inner_.ReadBase(chunk_, base);
    base[20] ^= std::byte{1};
    EXPECT_TRUE(inner_.ReplaceBase(chunk_, base).ok());
  }
  HostModelCopy inner_;
  const Layout layout_;
  const uint32_t chunk_;
  int applied_ = 0;
  int replaced_ = 0;
};

class WithABadBase final : public ForwardingTrainer {
 public:
  WithABadBase(std::unique_ptr<LocalTrainer> inner, uint32_t chunk)
      : ForwardingTrainer(std::move(inner)), chunk_(chunk) {}
  StatusOr<std::unique_ptr<ModelCopy>> MakeDeviceCopy(const RoundConfig& config) override {
    return std::unique_ptr<ModelCopy>(std::make_unique<LosesABit>(inner(), config, chunk_));
  }

 private:
  const uint32_t chunk_;
};

TEST(ClusterFaults, AFlippedBitOfTheBaseIsRepairedInItsRoundByExactlyItsChunk) {
  for (const ExchangeMode exchange : {ExchangeMode::kPipelined, ExchangeMode::kBarrier}) {
    ClusterOptions options;
    options.config.round.exchange = exchange;
    options.workers = 2;
    options.directory = FreshDirectory("lost-bit");
    options.hook = [](std::unique_ptr<LocalTrainer> trainer,
                      WorkerId worker) -> std::unique_ptr<LocalTrainer> {
      if (worker != 1) return trainer;
      return std::make_unique<WithABadBase>(std::move(trainer), 2);
    };
    ExpectSerialCopies(RunCluster(options), options);
    const auto database = RunDatabase::OpenReadOnly(options.directory + "/run.db");
    ASSERT_TRUE(database.ok());
    for (const WorkerRoundRecord& part : (*database)->WorkerRounds().value()) {
      EXPECT_EQ(part.repaired_chunks, part.worker == 1 && part.round == 2 ? 1u : 0u)
          << "worker " << part.worker << " round " << part.round;
    }
  }
}

/// Does something instead of training in a given round.
class Misbehaving final : public ForwardingTrainer {
 public:
  using Misdeed = std::function<Status(LocalTrainer& inner)>;
  Misbehaving(std::unique_ptr<LocalTrainer> inner, uint32_t round, Misdeed misdeed)
      : ForwardingTrainer(std::move(inner)), round_(round), misdeed_(std::move(misdeed)) {}
  StatusOr<TrainResult> TrainRound(const TrainRequest& request,
                                   const StepCallback& on_step) override {
    auto result = inner().TrainRound(request, on_step);
    if (request.round == round_) INTERLUDE_RETURN_IF_ERROR(misdeed_(inner()));
    return result;
  }

 private:
  const uint32_t round_;
  const Misdeed misdeed_;
};

TEST(ClusterFaults, ANanIsNamedAndTheOthersGoOn) {
  ClusterOptions options;
  options.workers = 2;
  options.directory = FreshDirectory("nan");
  options.hook = [](std::unique_ptr<LocalTrainer> trainer,
                    WorkerId worker) -> std::unique_ptr<LocalTrainer> {
    if (worker != 1) return trainer;
    return std::make_unique<Misbehaving>(std::move(trainer), 2, [](LocalTrainer& inner) {
      inner.parameters()[700] = std::numeric_limits<float>::quiet_NaN();
      return OkStatus();
    });
  };
  const ClusterResult result = RunCluster(options);
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.status().ToString();
  EXPECT_EQ(result.outcome->rounds, 3u);
  EXPECT_EQ(result.outcome->workers_lost, 1u);
  EXPECT_TRUE(result.workers[0].ok());
  ASSERT_FALSE(result.workers[1].ok());
  EXPECT_THAT(result.workers[1].status().message(),
              HasSubstr(LayoutOf(options.config).DescribePosition(700)));
  EXPECT_THAT(result.workers[1].status().message(), HasSubstr("round 2"));
}

TEST(ClusterFaults, WhenTheOnlyWorkerFailsTheRunEndsWithItsReason) {
  ClusterOptions options;
  options.workers = 1;
  options.directory = FreshDirectory("only-worker");
  options.hook = [](std::unique_ptr<LocalTrainer> trainer,
                    WorkerId) -> std::unique_ptr<LocalTrainer> {
    return std::make_unique<Misbehaving>(std::move(trainer), 2, [](LocalTrainer&) {
      return ResourceExhaustedError("the GPU melted");
    });
  };
  const ClusterResult result = RunCluster(options);
  EXPECT_FALSE(result.outcome.ok());
  ASSERT_FALSE(result.workers[0].ok());
  EXPECT_THAT(result.workers[0].status().message(), HasSubstr("the GPU melted"));
  const auto database = RunDatabase::OpenReadOnly(options.directory + "/run.db");
  ASSERT_TRUE(database.ok());
  const std::vector<WorkerRecord> workers = (*database)->Workers().value();
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_THAT(workers[0].left_reason, HasSubstr("the GPU melted"));
}

}  // namespace
}  // namespace interlude
