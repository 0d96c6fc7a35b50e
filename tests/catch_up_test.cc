// A worker that comes when rounds are under way, over real gRPC: the rounds of the others go on, it
// fetches what it lacks and nothing else, and ends with the bits of all.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>

#include "ledger/run_database.h"
#include "tests/cluster.h"
#include "worker/forwarding_trainer.h"

namespace interlude {
namespace {

constexpr WorkerId kLate = 2;
constexpr uint32_t kChunks = 4;
constexpr uint32_t kRounds = 10;

/// What was seen of the run, for threads that wait for it.
class Watch final : public RunObserver {
 public:
  void WorkerLeft(WorkerId worker, const std::string&) override {
    Note([&] { left_ += worker == kLate ? 1 : 0; });
  }
  void CatchUpBegan(WorkerId, uint32_t) override {
    Note([&] { began_ = true; });
  }
  void CaughtUp(WorkerId, uint32_t) override {
    Note([&] { caught_up_ = true; });
  }
  void RoundEnded(const RoundLine& line) override {
    Note([&] { ended_ = line.round; });
  }
  void AwaitFirstLeaving() {
    Await([&] { return left_ > 0; });
  }
  void AwaitCatchUpBegan() {
    Await([&] { return began_; });
  }
  void AwaitCaughtUpOrGone() {
    Await([&] { return caught_up_ || left_ > 1; });
  }
  void AwaitEndOf(uint32_t round) {
    Await([&] { return ended_ >= round; });
  }

 private:
  template <typename Change>
  void Note(const Change& change) {
    MutexLock lock(mutex_);
    change();
    changed_.NotifyAll();
  }
  template <typename Condition>
  void Await(const Condition& condition) {
    MutexLock lock(mutex_);
    while (!condition()) changed_.Wait(mutex_);
  }
  Mutex mutex_;
  CondVar changed_;
  int left_ = 0;
  bool began_ = false;
  bool caught_up_ = false;
  uint32_t ended_ = 0;
};

/// Calls `before` before each round's training; an error of it is the round's.
class Gated final : public ForwardingTrainer {
 public:
  using Before = std::function<Status(uint32_t round)>;
  Gated(std::unique_ptr<LocalTrainer> inner, Before before)
      : ForwardingTrainer(std::move(inner)), before_(std::move(before)) {}
  StatusOr<TrainResult> TrainRound(const TrainRequest& request,
                                   const StepCallback& on_step) override {
    INTERLUDE_RETURN_IF_ERROR(before_(request.round));
    return inner().TrainRound(request, on_step);
  }

 private:
  const Before before_;
};

struct LateRun {
  StatusOr<RunOutcome> outcome = UnknownError("not run");
  StatusOr<WorkerOutcome> late = UnknownError("not run");
  std::map<WorkerId, std::vector<float>> parameters;
  RunConfig config;
  std::vector<std::set<WorkerId>> members;  // by round, from 1 on
  uint64_t base_chunks = 0;                 // fetched by the late worker, as the events tell
  uint64_t sync_chunks = 0;
};

/// Three workers begin. Worker 2 is lost in round 2; in round 3 another comes in its place, is told
/// to catch up, and does nothing before round 5 has ended. Round 8 waits until it has caught up.
class LateRunner {
 public:
  LateRunner(const std::string& name, ExchangeMode exchange, uint32_t retained,
             TrainerHook late_hook, bool leaves)
      : late_hook_(std::move(late_hook)), leaves_(leaves) {
    options_.config = SyntheticConfig(1000, 256, kRounds);
    options_.config.round.exchange = exchange;
    options_.config.round.retained_syncs = retained;
    options_.directory = FreshDirectory("catch-up-" + name);
    options_.hook = [this](std::unique_ptr<LocalTrainer> trainer, WorkerId worker) {
      return Hook(std::move(trainer), worker);
    };
  }

  LateRun Run() {
    CoordinatorOptions coordinator_options;
    coordinator_options.config = options_.config;
    coordinator_options.workers = 3;
    coordinator_options.directory = options_.directory;
    coordinator_options.threads = 2;
    auto coordinator = Coordinator::Start(coordinator_options, SystemClock(), &watch_).value();
    LateRun run;
    std::vector<std::thread> threads;
    for (const WorkerId worker : {0, 1}) {
      threads.emplace_back([&, worker] {
        EXPECT_TRUE(Work(coordinator->address(), worker, [] { return false; }).ok()) << worker;
      });
    }
    EXPECT_FALSE(Work(coordinator->address(), kLate, [] { return false; }).ok());
    watch_.AwaitFirstLeaving();
    late_ = true;
    run.late = Work(coordinator->address(), kLate, [this] {
      if (!offered_) return false;
      watch_.AwaitEndOf(5);
      return leaves_;
    });
    for (std::thread& thread : threads) thread.join();
    run.outcome = coordinator->Wait();
    run.parameters = final_parameters_.Take();
    run.config = options_.config;
    ReadLedger(run);
    return run;
  }

 private:
  StatusOr<WorkerOutcome> Work(const std::string& address, WorkerId worker,
                               const std::function<bool()>& stop) {
    const WorkerOptions options{.coordinator = address, .requested_worker = worker, .threads = 1};
    return RunWorker(options, MakeFactory(options_, final_parameters_), SystemClock(), stop);
  }

  std::unique_ptr<LocalTrainer> Hook(std::unique_ptr<LocalTrainer> trainer, WorkerId worker) {
    if (worker == kLate && late_) {
      offered_ = true;  // from here on it waits before it does anything else
      return late_hook_ ? late_hook_(std::move(trainer), worker) : std::move(trainer);
    }
    return std::make_unique<Gated>(std::move(trainer), [this, worker](uint32_t round) {
      if (worker == kLate && round == 2) return ResourceExhaustedError("the GPU melted");
      if (worker == 0 && round == 3) watch_.AwaitCatchUpBegan();
      if (worker == 0 && round == 8) watch_.AwaitCaughtUpOrGone();
      return OkStatus();
    });
  }

  void ReadLedger(LateRun& run) const {
    const auto database = RunDatabase::OpenReadOnly(options_.directory + "/run.db").value();
    run.members.resize(kRounds);
    for (const WorkerRoundRecord& part : database->WorkerRounds().value())
      run.members.at(part.round - 1).insert(part.worker);
    for (const EventRecord& event : database->Events().value()) {
      if (event.kind != "catch_up") continue;
      EXPECT_EQ(event.worker, kLate);
      unsigned base = 0;
      unsigned sync = 0;
      EXPECT_EQ(
          std::sscanf(event.text.c_str(),
                      "up to round %*u: %u chunks of the base and %u of sync deltas", &base, &sync),
          2)
          << event.text;
      run.base_chunks += base;
      run.sync_chunks += sync;
    }
  }

  Watch watch_;
  ClusterOptions options_;
  FinalParameters final_parameters_;
  const TrainerHook late_hook_;
  const bool leaves_;
  std::atomic<bool> late_ = false;
  std::atomic<bool> offered_ = false;
};

void ExpectAllAgree(const LateRun& run) {
  ASSERT_TRUE(run.outcome.ok()) << run.outcome.status().ToString();
  ASSERT_TRUE(run.late.ok()) << run.late.status().ToString();
  EXPECT_EQ(run.outcome->rounds, kRounds);
  EXPECT_EQ(run.outcome->workers_lost, 1u);
  for (const uint32_t round : {2u, 3u, 4u, 5u})
    EXPECT_EQ(run.members[round - 1], (std::set<WorkerId>{0, 1})) << "round " << round;
  EXPECT_TRUE(run.members.back().contains(kLate));
  const std::vector<float> expected = ReplaySerially(run.config, 3, run.members);
  ASSERT_EQ(run.parameters.size(), 3u);
  for (const auto& [worker, values] : run.parameters)
    EXPECT_TRUE(SameBits(values, expected)) << "worker " << worker;
}

/// The rounds before the late worker's first one.
uint64_t RoundsBefore(const LateRun& run) {
  uint32_t round = 2;
  while (round <= kRounds && !run.members[round - 1].contains(kLate)) ++round;
  return round - 1;
}

class CatchUpModes : public testing::TestWithParam<ExchangeMode> {};
INSTANTIATE_TEST_SUITE_P(BothModes, CatchUpModes,
                         testing::Values(ExchangeMode::kPipelined, ExchangeMode::kBarrier));

TEST_P(CatchUpModes, AWorkerWithTheFirstBaseTakesTheSyncDeltasOnly) {
  const LateRun run = LateRunner("first-base", GetParam(), 8, {}, false).Run();
  ExpectAllAgree(run);
  EXPECT_EQ(run.base_chunks, 0u);
  EXPECT_EQ(run.sync_chunks, kChunks * RoundsBefore(run));
}

TEST_P(CatchUpModes, AWorkerWithOtherParametersFetchesEachChunkOfTheBaseOnce) {
  const auto other = [](std::unique_ptr<LocalTrainer> trainer, WorkerId) {
    for (float& value : trainer->parameters()) value += 1.0f;
    return trainer;
  };
  const LateRun run = LateRunner("other", GetParam(), 8, other, false).Run();
  ExpectAllAgree(run);
  EXPECT_EQ(run.base_chunks, kChunks);
}

TEST_P(CatchUpModes, OneWithAFlippedBitFetchesExactlyThatChunkOfTheBase) {
  const auto flip = [](std::unique_ptr<LocalTrainer> trainer, WorkerId) {
    return FlipOneBit(std::move(trainer), 300);
  };
  const LateRun run = LateRunner("flip", GetParam(), 8, flip, false).Run();
  ExpectAllAgree(run);
  EXPECT_EQ(run.base_chunks, 1u);
  EXPECT_GE(run.sync_chunks, (kChunks - 1) * RoundsBefore(run));
  EXPECT_LT(run.sync_chunks, kChunks * RoundsBefore(run));
}

TEST_P(CatchUpModes, OneThatIsOvertakenByTheRetainedRoundsFetchesTheBase) {
  const LateRun run = LateRunner("overtaken", GetParam(), 2, {}, false).Run();
  ExpectAllAgree(run);
  EXPECT_EQ(run.base_chunks, kChunks);
  EXPECT_LT(run.sync_chunks, kChunks * RoundsBefore(run));
}

TEST_P(CatchUpModes, OneThatLeavesMeanwhileIsNotMissed) {
  const LateRun run = LateRunner("leaves", GetParam(), 4, {}, true).Run();
  ASSERT_TRUE(run.outcome.ok()) << run.outcome.status().ToString();
  EXPECT_FALSE(run.late.ok());
  EXPECT_EQ(run.outcome->workers_lost, 1u) << "it was no member";
  EXPECT_EQ(run.members.back(), (std::set<WorkerId>{0, 1}));
  EXPECT_TRUE(SameBits(run.parameters.at(0), ReplaySerially(run.config, 3, run.members)));
}

}  // namespace
}  // namespace interlude
