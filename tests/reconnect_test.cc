// A line that breaks in the middle of a run, over real gRPC: the worker comes back by itself and
// its round goes on, with the bits of a run on a good line.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/cluster.h"
#include "tests/fault_link.h"
#include "worker/control_link.h"
#include "worker/forwarding_trainer.h"

namespace interlude {
namespace {

/// Calls `before` before each round's training.
class BeforeTraining final : public ForwardingTrainer {
 public:
  BeforeTraining(std::unique_ptr<LocalTrainer> inner, std::function<void(uint32_t)> before)
      : ForwardingTrainer(std::move(inner)), before_(std::move(before)) {}
  StatusOr<TrainResult> TrainRound(const TrainRequest& request,
                                   const StepCallback& on_step) override {
    before_(request.round);
    return inner().TrainRound(request, on_step);
  }

 private:
  const std::function<void(uint32_t)> before_;
};

class Watch final : public RunObserver {
 public:
  void WorkerReturned(WorkerId) override { ++returned; }
  void CaughtUp(WorkerId, uint32_t) override { ++caught_up; }
  void WorkerLeft(WorkerId, const std::string& reason) override { left = left + reason + "; "; }
  std::atomic<int> returned{0};
  std::atomic<int> caught_up{0};
  std::string left;  // the round thread; read when the run has ended
};

struct BrokenRun {
  StatusOr<RunOutcome> outcome = UnknownError("not run");
  std::map<WorkerId, std::vector<float>> parameters;
};

/// Worker 1 is behind a line that `before` may spoil as it is about to train. Worker 0 does not go
/// beyond round 7 before the other one is back.
BrokenRun RunBehindALine(ClusterOptions options, Watch& watch,
                         const std::function<void(FaultLink&, uint32_t round)>& before) {
  CoordinatorOptions coordinator_options;
  coordinator_options.config = options.config;
  coordinator_options.workers = 2;
  coordinator_options.directory = options.directory;
  coordinator_options.threads = 1;
  auto coordinator = Coordinator::Start(coordinator_options, SystemClock(), &watch).value();
  FaultLink line(coordinator->address());
  options.hook = [&](std::unique_ptr<LocalTrainer> trainer,
                     WorkerId worker) -> std::unique_ptr<LocalTrainer> {
    if (worker == 0) {
      return std::make_unique<BeforeTraining>(std::move(trainer), [&](uint32_t round) {
        while (round == 8 && watch.returned + watch.caught_up == 0) std::this_thread::yield();
      });
    }
    return std::make_unique<BeforeTraining>(std::move(trainer),
                                            [&](uint32_t round) { before(line, round); });
  };
  FinalParameters parameters;
  const TrainerFactory factory = MakeFactory(options, parameters);
  std::vector<std::thread> threads;
  for (const WorkerId worker : {0, 1}) {
    threads.emplace_back([&, worker] {
      WorkerOptions worker_options;
      worker_options.coordinator = worker == 0 ? coordinator->address() : line.address();
      worker_options.requested_worker = worker;
      worker_options.threads = 1;
      worker_options.reconnect_for = std::chrono::minutes(1);
      const auto outcome = RunWorker(worker_options, factory, SystemClock(), [] { return false; });
      EXPECT_TRUE(outcome.ok()) << worker << ": " << outcome.status().ToString();
    });
  }
  for (std::thread& thread : threads) thread.join();
  coordinator->Stop("all workers are gone");
  BrokenRun run;
  run.outcome = coordinator->Wait();
  run.parameters = parameters.Take();
  return run;
}

class ReconnectModes : public testing::TestWithParam<ExchangeMode> {};
INSTANTIATE_TEST_SUITE_P(BothModes, ReconnectModes,
                         testing::Values(ExchangeMode::kPipelined, ExchangeMode::kBarrier));

TEST_P(ReconnectModes, AStayGoesOnInAnotherSessionAndTheBitsAreThoseOfAGoodLine) {
  ClusterOptions options;
  options.config = SyntheticConfig(1000, 256, 6);
  options.config.round.exchange = GetParam();
  options.config.round.reconnect_s = 600;  // it is awaited however busy the machine is
  options.directory = FreshDirectory("reconnect");
  Watch watch;
  const BrokenRun run = RunBehindALine(options, watch, [](FaultLink& line, uint32_t round) {
    if (round % 2 == 1) return;
    line.Cut();
    while (line.connections() > 0) std::this_thread::yield();
    line.Heal();
  });
  ASSERT_TRUE(run.outcome.ok()) << run.outcome.status().ToString();
  EXPECT_GE(watch.returned, 1);
  EXPECT_EQ(watch.left, "");
  const std::vector<float> expected = ReplaySerially(options.config, 2, 6);
  for (const auto& [worker, values] : run.parameters)
    EXPECT_TRUE(SameBits(values, expected)) << worker;
}

/// The upload of round 3 begins while there is no session, and meets the coordinator before the
/// session is there again: which of the two lines comes first is left to chance.
TEST_P(ReconnectModes, AnUploadThatBeginsWhileTheLineIsCutWaitsForTheSession) {
  for (const double awaited_s : {600.0, 0.0}) {
    ClusterOptions options;
    options.config = SyntheticConfig(1000, 256, 12);
    options.config.round.exchange = GetParam();
    options.config.round.reconnect_s = awaited_s;
    options.directory = FreshDirectory("upload-in-the-dark");
    Watch watch;
    std::thread healer;
    const BrokenRun run = RunBehindALine(options, watch, [&](FaultLink& line, uint32_t round) {
      if (round != 3 || healer.joinable()) return;
      line.Cut();
      while (line.connections() > 0) std::this_thread::yield();
      healer = std::thread([&line] {
        while (line.refused() < 5) std::this_thread::yield();  // both lines have tried
        line.Heal();
      });
    });
    healer.join();
    ASSERT_TRUE(run.outcome.ok()) << run.outcome.status().ToString();
    ASSERT_EQ(run.parameters.size(), 2u);
    EXPECT_TRUE(SameBits(run.parameters.at(0), run.parameters.at(1))) << awaited_s;
  }
}

TEST(Reconnect, AWorkerThatIsNotAwaitedBeginsAnewWithItsModelAndEndsWithTheBitsOfAll) {
  ClusterOptions options;
  options.config = SyntheticConfig(1000, 256, 12);
  options.config.round.reconnect_s = 0;
  options.config.round.error_feedback = true;
  options.directory = FreshDirectory("anew");
  Watch watch;
  const BrokenRun run = RunBehindALine(options, watch, [&](FaultLink& line, uint32_t round) {
    if (round != 3) return;
    line.Cut();
    while (line.connections() > 0) std::this_thread::yield();
    line.Heal();
  });
  ASSERT_TRUE(run.outcome.ok()) << run.outcome.status().ToString();
  ASSERT_EQ(run.parameters.size(), 2u);
  EXPECT_TRUE(SameBits(run.parameters.at(0), run.parameters.at(1)));
}

TEST(Reconnect, ACallThatBeganWithoutASessionWaitsUntilThereIsOne) {
  CoordinatorOptions options;
  options.config = SyntheticConfig();
  options.workers = 2;
  options.directory = FreshDirectory("in-the-dark");
  auto coordinator = Coordinator::Start(options, SystemClock(), nullptr).value();
  FaultLink line(coordinator->address());
  ControlLink link(
      grpc::CreateChannel(line.address(), grpc::InsecureChannelCredentials()), JoinMessage{},
      {.address = line.address(), .reconnect_for = std::chrono::minutes(1)}, [] { return false; });
  ASSERT_TRUE(link.ReceiveFor(std::chrono::minutes(1)).has_value()) << "the welcome";
  line.Cut();
  while (link.connection() != 0) std::this_thread::yield();
  // It asks some ten times a second: more often than it takes to know that a session is there.
  int asked = 0;
  EXPECT_TRUE(link.AwaitAnother(0, [&] {
    if (++asked == 9) line.Heal();
    return true;
  }));
  EXPECT_GE(asked, 9);
  EXPECT_EQ(link.connection(), 2u);
}

}  // namespace
}  // namespace interlude
