#include "worker/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/cpu_quota.h"
#include "codec/chunk_codec.h"
#include "worker/forwarding_trainer.h"
#include "worker/scripted_coordinator.h"
#include "worker/test_trainer.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct Played {
  StatusOr<WorkerOutcome> outcome;
  Seen seen;
};

Played Play(Script script, int threads = 1, const TrainerFactory& factory = SyntheticFactory()) {
  ScriptedCoordinator coordinator(std::move(script));
  WorkerOptions options{.coordinator = coordinator.address(), .threads = threads};
  const ManualClock clock(std::chrono::seconds(5));
  StatusOr<WorkerOutcome> outcome = RunWorker(options, factory, clock, [] { return false; });
  return {std::move(outcome), coordinator.Finish()};
}

/// What a worker must send and become, computed without any of its code but codec and trainer.
void ExpectExchangeWasRight(const RunConfig& config, const Seen& seen) {
  const auto trainer = CreateSyntheticTrainer(config, 0, 1).value();
  const std::span<float> parameters = trainer->parameters();
  std::vector<float> base(parameters.begin(), parameters.end());
  EXPECT_EQ(seen.first_base, base);
  const Codec codec = CodecOf(config.round);
  std::vector<float> residual(config.round.error_feedback ? base.size() : 0);
  for (uint32_t round = 1; round <= config.round.rounds; ++round) {
    const TrainRequest request{.round = round,
                               .first_step = (round - 1) * config.round.local_steps,
                               .local_steps = config.round.local_steps};
    ASSERT_TRUE(trainer->TrainRound(request, [](uint32_t, double) { return true; }).ok());
    std::vector<Hash128> hashes;
    for (uint32_t chunk = 0; chunk < seen.layout.num_chunks(); ++chunk) {
      const ChunkRange range = seen.layout.chunk(chunk);
      const auto part = [&](std::span<float> all) { return all.subspan(range.begin, range.count); };
      std::vector<std::byte> payload(EncodedBytes(codec, range.count));
      Hash128 hash;
      EncodeDelta(codec, part(parameters), part(base),
                  residual.empty() ? std::span<float>() : part(residual), payload, hash);
      EXPECT_EQ(seen.deltas.at(round)[chunk], payload) << "round " << round << " chunk " << chunk;
      Apply(codec, seen.syncs.at(round)[chunk], part(base), part(parameters));
      hashes.push_back(HashFloats(part(base)));
    }
    EXPECT_EQ(seen.reports[round - 1].root, RootHash(hashes));
    EXPECT_EQ(seen.reports[round - 1].root, seen.roots.at(round));
  }
}

class WorkerModes
    : public ::testing::TestWithParam<std::tuple<ExchangeMode, CodecKind, bool, int>> {};

TEST_P(WorkerModes, UploadsExactlyItsDeltasAndEndsWithTheCoordinatorsBase) {
  Script script{.config = SmallConfig()};
  int threads = 1;
  std::tie(script.config.round.exchange, script.config.round.codec,
           script.config.round.error_feedback, threads) = GetParam();
  const Played run = Play(script, threads);
  ASSERT_TRUE(run.outcome.ok()) << run.outcome.status().ToString();
  EXPECT_EQ(run.outcome->worker, 0);
  EXPECT_EQ(run.outcome->rounds, 3u);
  EXPECT_EQ(run.outcome->retries, 0u);
  EXPECT_EQ(run.outcome->root_hash, run.seen.roots.at(3).ToHex());
  ASSERT_EQ(run.seen.reports.size(), 3u);
  ExpectExchangeWasRight(script.config, run.seen);
  ASSERT_EQ(run.seen.leaves.size(), 1u);
  EXPECT_FALSE(run.seen.leaves[0].failed);
}

INSTANTIATE_TEST_SUITE_P(
    All, WorkerModes,
    ::testing::Values(std::tuple(ExchangeMode::kPipelined, CodecKind::kQ4, false, 1),
                      std::tuple(ExchangeMode::kPipelined, CodecKind::kQ4, true, 2),
                      std::tuple(ExchangeMode::kPipelined, CodecKind::kQ8, true, 2),
                      std::tuple(ExchangeMode::kPipelined, CodecKind::kFp32, false, 2),
                      std::tuple(ExchangeMode::kBarrier, CodecKind::kQ4, false, 2),
                      std::tuple(ExchangeMode::kBarrier, CodecKind::kFp32, true, 1)));

// What waits in one connection's pipe cannot hold up the other.
TEST(Worker, ControlAndBulkHaveConnectionsOfTheirOwn) {
  Script script;
  script.config.model.kind = ModelKind::kSynthetic;
  const Played played = Play(std::move(script));
  ASSERT_TRUE(played.outcome.ok()) << played.outcome.status().ToString();
  EXPECT_FALSE(played.seen.downloads.empty());
  EXPECT_EQ(played.seen.bulk_connections.size(), 1u);
  EXPECT_FALSE(played.seen.control_connection.empty());
  EXPECT_FALSE(played.seen.bulk_connections.contains(played.seen.control_connection));
}

TEST(Worker, TellsWhoItIsAndWhatItHasWhenItJoins) {
  const Played run = Play({.config = SmallConfig()}, 2);
  EXPECT_EQ(run.seen.join.protocol_version, kProtocolVersion);
  EXPECT_GT(run.seen.join.usable_cores, 0);
  EXPECT_THAT(run.seen.join.software, ::testing::StartsWith("interlude "));
  EXPECT_EQ(run.seen.join.requested_worker, std::nullopt);
  EXPECT_EQ(run.seen.layout.num_chunks(), 6u);
  EXPECT_EQ(run.seen.layout.chunk(5).count, 40u);
  for (uint32_t chunk = 0; chunk < 6; ++chunk) {
    const ChunkRange range = run.seen.layout.chunk(chunk);
    EXPECT_EQ(run.seen.offered_hashes[chunk],
              HashFloats(std::span(run.seen.first_base).subspan(range.begin, range.count)));
  }
}

TEST(Worker, TakesItsThreadsFromItsOptionsElseFromTheConfigurationElseFromTheMachine) {
  Script script{.config = SmallConfig()};
  EXPECT_EQ(Play(script, 0).seen.threads, ReadCpuLimits().UsableCores());
  script.config.threads = 3;
  EXPECT_EQ(Play(script, 0).seen.threads, 3);
  EXPECT_EQ(Play(script, 2).seen.threads, 2);
}

/// (round, chunks) of each span of sharing the base.
std::vector<std::pair<uint32_t, uint32_t>> Shared(const Seen& seen) {
  std::vector<std::pair<uint32_t, uint32_t>> shared;
  const auto add = [&](const std::vector<Span>& spans) {
    for (const Span& span : spans) {
      if (span.phase == Phase::kShareBase) shared.emplace_back(span.round, span.chunks);
    }
  };
  for (const CaughtUpMessage& caught_up : seen.caught_up) add(caught_up.account.spans);
  for (const RoundReportMessage& report : seen.reports) add(report.account.spans);
  return shared;
}

TEST(Worker, SharingTheBaseIsAPhaseOfItsOwn) {
  EXPECT_THAT(Shared(Play({.config = SmallConfig()}).seen),
              ElementsAre(std::pair(kBeforeRounds, 6u)));
  EXPECT_THAT(Shared(Play({.config = SmallConfig(), .differ_at_start = {1, 5}}).seen),
              ElementsAre(std::pair(kBeforeRounds, 6u), std::pair(kBeforeRounds, 2u)));
}

TEST(Worker, HeadersNameKindRoundCodecAndSamples) {
  const Played run = Play({.config = SmallConfig()});
  ASSERT_EQ(run.seen.uploads.size(), 4u);
  EXPECT_EQ(run.seen.uploads[0].kind, UploadKind::kBase);
  EXPECT_EQ(run.seen.uploads[0].codec, Codec::kFp32);
  for (uint32_t round = 1; round <= 3; ++round) {
    EXPECT_EQ(run.seen.uploads[round].kind, UploadKind::kDelta);
    EXPECT_EQ(run.seen.uploads[round].round, round);
    EXPECT_EQ(run.seen.uploads[round].codec, Codec::kQ4);
    EXPECT_EQ(run.seen.uploads[round].samples, 4u * SmallConfig().train.batch);
  }
}

TEST(Worker, DownloadsNothingBeforeItsUploadIsCompleteWithABarrier) {
  Script script{.config = SmallConfig()};
  script.config.round.exchange = ExchangeMode::kBarrier;
  EXPECT_FALSE(Play(script).seen.download_during_upload);
}

TEST(Worker, ReportsLossSamplesBytesAndASpanOfEachPhase) {
  const Played run = Play({.config = SmallConfig()});
  ASSERT_EQ(run.seen.reports.size(), 3u);
  size_t payload_bytes = 0;
  for (const auto& payload : run.seen.deltas.at(2)) payload_bytes += payload.size();
  const RoundReportMessage& report = run.seen.reports[1];
  EXPECT_EQ(report.samples, 4u * SmallConfig().train.batch);
  EXPECT_EQ(report.upload_bytes, payload_bytes);
  EXPECT_EQ(report.download_bytes, payload_bytes);
  EXPECT_GT(report.mean_loss, report.last_loss);
  std::multiset<Phase> phases;
  for (const Span& span : report.account.spans) {
    phases.insert(span.phase);
    EXPECT_EQ(span.round, 2u);
    EXPECT_TRUE(span.ok);
    if (span.chunks == 0) continue;
    EXPECT_EQ(span.chunks, 6u) << PhaseName(span.phase);
    EXPECT_EQ(span.bytes, span.phase == Phase::kVerify ? 4000u : payload_bytes)
        << PhaseName(span.phase);
  }
  EXPECT_THAT(phases, ElementsAre(Phase::kTrain, Phase::kEncode, Phase::kUpload, Phase::kWait,
                                  Phase::kDownload, Phase::kApply, Phase::kVerify,
                                  Phase::kAwaitRound, Phase::kCall, Phase::kCall));
}

/// Says that it has loaded something for each round.
class LoadingTrainer final : public ForwardingTrainer {
 public:
  using ForwardingTrainer::ForwardingTrainer;

  StatusOr<TrainResult> TrainRound(const TrainRequest& request,
                                   const StepCallback& on_step) override {
    StatusOr<TrainResult> result = inner().TrainRound(request, on_step);
    if (result.ok()) result->load = LoadFigures{.wait_ns = 3, .cpu_ns = 50, .bytes = 600};
    return result;
  }
};

TEST(Worker, ReportsWhatLoadingTookAsASpanOverTraining) {
  const Played run = Play({.config = SmallConfig()}, 1,
                          [](const RunConfig& config, WorkerId worker, uint32_t workers,
                             int) -> StatusOr<std::unique_ptr<LocalTrainer>> {
                            return std::unique_ptr<LocalTrainer>(new LoadingTrainer(
                                CreateSyntheticTrainer(config, worker, workers).value()));
                          });
  ASSERT_EQ(run.seen.reports.size(), 3u);
  const std::vector<Span>& spans = run.seen.reports[1].account.spans;
  const auto train = std::ranges::find(spans, Phase::kTrain, &Span::phase);
  const auto load = std::ranges::find(spans, Phase::kLoad, &Span::phase);
  ASSERT_TRUE(train != spans.end() && load != spans.end());
  Span expected = *train;
  expected.phase = Phase::kLoad;
  expected.cpu_ns = 50;
  expected.bytes = 600;
  // The clock of these tests stands still, and nobody waits for longer than training takes.
  expected.busy_ns = expected.run_delay_ns = expected.blocked_ns = 0;
  EXPECT_EQ(*load, expected);
}

TEST(Worker, ReportsWhenEachChunkWentThroughThePhasesOfTheExchange) {
  const Played run = Play({.config = SmallConfig()});
  std::map<Phase, std::vector<uint32_t>> chunks;
  for (const ChunkStamps& stamps : run.seen.reports.at(1).account.stamps) {
    EXPECT_EQ(stamps.round, 2u);
    for (const ChunkStamp& stamp : stamps.stamps) {
      EXPECT_LE(stamp.begin_ns, stamp.end_ns);
      chunks[stamps.phase].push_back(stamp.chunk);
    }
  }
  for (const Phase phase : {Phase::kEncode, Phase::kUpload, Phase::kDownload, Phase::kApply}) {
    EXPECT_THAT(chunks[phase], UnorderedElementsAre(0, 1, 2, 3, 4, 5)) << PhaseName(phase);
  }
  EXPECT_EQ(chunks.size(), 4u);
}

TEST(Worker, SendsProgressWithTheFirstStepAndThenAsTimePasses) {
  // The clock of these tests stands still, so each round reports its first step and no other.
  const Played run = Play({.config = SmallConfig()});
  ASSERT_EQ(run.seen.progress.size(), 3u);
  EXPECT_EQ(run.seen.progress[2].round, 3u);
  EXPECT_EQ(run.seen.progress[2].steps_done, 1u);
  EXPECT_EQ(run.seen.progress[2].steps, 4u);
}

TEST(Worker, EvaluatesWhenToldToAndAtTheEnd) {
  const Played run = Play({.config = SmallConfig(), .evaluate_first = true});
  ASSERT_EQ(run.seen.evaluations.size(), 2u);
  EXPECT_EQ(run.seen.evaluations[0].after_rounds, 0u);
  EXPECT_EQ(run.seen.evaluations[1].after_rounds, 3u);
  EXPECT_EQ(run.seen.evaluations[1].samples, 10'000u);
  // The span stands in the round that waits for it: the first, and the one after the last.
  const std::pair<size_t, uint32_t> expected[] = {{0, 1}, {1, 4}};
  for (const auto& [i, round] : expected) {
    ASSERT_FALSE(run.seen.evaluations[i].account.spans.empty());
    EXPECT_EQ(run.seen.evaluations[i].account.spans.back().phase, Phase::kEvaluate);
    EXPECT_EQ(run.seen.evaluations[i].account.spans.back().round, round);
  }
}

TEST(Worker, FetchesTheChunksOfTheFirstBaseThatDifferBeforeItTrains) {
  Script script{.config = SmallConfig(), .differ_at_start = {1, 5}};
  const Played run = Play(script);
  ASSERT_TRUE(run.outcome.ok()) << run.outcome.status().ToString();
  EXPECT_EQ(run.seen.downloads[0].kind, DownloadKind::kBase);
  EXPECT_THAT(run.seen.downloads[0].chunks, ElementsAre(1, 5));
  EXPECT_EQ(run.seen.caught_up[0].base_chunks, 2u);
  EXPECT_EQ(run.seen.reports[0].repaired_chunks, 0u);
  EXPECT_EQ(run.seen.reports[2].root, run.seen.roots.at(3));
}

}  // namespace
}  // namespace interlude
