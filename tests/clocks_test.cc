// Clock probes of a real run, over real gRPC and a line with a delay that breaks once: what is
// stored covers the truth, which for two threads of one machine is no offset at all.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "ledger/run_database.h"
#include "tests/cluster.h"
#include "tests/fault_link.h"
#include "worker/forwarding_trainer.h"

namespace interlude {
namespace {

class BeforeTraining final : public ForwardingTrainer {
 public:
  BeforeTraining(std::unique_ptr<LocalTrainer> inner, std::function<void()> before)
      : ForwardingTrainer(std::move(inner)), before_(std::move(before)) {}
  StatusOr<TrainResult> TrainRound(const TrainRequest& request,
                                   const StepCallback& on_step) override {
    before_();
    return inner().TrainRound(request, on_step);
  }

 private:
  const std::function<void()> before_;
};

std::vector<ClockProbe> StoredProbes(const std::string& directory) {
  const auto database = RunDatabase::OpenReadOnly(directory + "/run.db");
  return database.ok() ? (*database)->Probes().value() : std::vector<ClockProbe>();
}

/// Rounds go by until a probe is stored, then the line breaks, and until one is that was sent after
/// it; then the run is stopped.
class Story {
 public:
  Story(std::string directory, Coordinator& coordinator, FaultLink& line)
      : directory_(std::move(directory)), coordinator_(coordinator), line_(line) {}

  void BeforeTraining() {
    const std::vector<ClockProbe> probes = StoredProbes(directory_);
    if (probes.empty()) return;
    if (!healed_at_) {
      line_.Cut();
      while (line_.connections() > 0) std::this_thread::yield();
      healed_at_ = SystemClock().Now();
      line_.Heal();
    } else if (probes.back().sent_ns > healed_at_->count()) {
      coordinator_.Stop("enough is known");
    }
  }

 private:
  const std::string directory_;
  Coordinator& coordinator_;
  FaultLink& line_;
  std::optional<Nanoseconds> healed_at_;
};

TEST(Clocks, ProbesGoOnOverABreakAndAllEstimatesCoverTheTruth) {
  ClusterOptions options;
  options.directory = FreshDirectory("clocks");
  CoordinatorOptions coordinator_options;
  coordinator_options.config = SyntheticConfig(1000, 256, 1'000'000);
  coordinator_options.config.round.reconnect_s = 600;
  coordinator_options.workers = 1;
  coordinator_options.directory = options.directory;
  coordinator_options.threads = 1;
  auto coordinator = Coordinator::Start(coordinator_options, SystemClock(), nullptr).value();
  FaultLink line(coordinator->address());
  line.SetDelay(std::chrono::milliseconds(5));
  Story story(options.directory, *coordinator, line);
  options.hook = [&](std::unique_ptr<LocalTrainer> trainer,
                     WorkerId) -> std::unique_ptr<LocalTrainer> {
    return std::make_unique<BeforeTraining>(std::move(trainer), [&] { story.BeforeTraining(); });
  };
  FinalParameters parameters;
  WorkerOptions worker_options{.coordinator = line.address(), .threads = 1};
  worker_options.reconnect_for = std::chrono::minutes(1);
  const auto worker = RunWorker(worker_options, MakeFactory(options, parameters), SystemClock(),
                                [] { return false; });
  EXPECT_FALSE(worker.ok()) << "its run was stopped";
  EXPECT_EQ(coordinator->Wait().status().message(), "enough is known");

  const auto database = RunDatabase::OpenReadOnly(options.directory + "/run.db").value();
  const std::vector<ClockRecord> clocks = database->Clocks().value();
  ASSERT_FALSE(clocks.empty());
  for (const ClockRecord& clock : clocks) {
    const ClockEstimate& estimate = clock.estimate;
    if (estimate.method == ClockMethod::kNone) continue;
    EXPECT_LE(std::abs(estimate.offset_ns), estimate.error_ns);
    EXPECT_GE(estimate.error_ns, 5'000'000) << "half the line's round trip";
  }
  EXPECT_EQ(clocks.back().round, std::nullopt);
  EXPECT_EQ(clocks.back().estimate.method, ClockMethod::kEnvelope);
}

}  // namespace
}  // namespace interlude
