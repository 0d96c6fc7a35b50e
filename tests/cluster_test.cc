// Whole runs over real gRPC: every copy of the model must be the same bits, and the bits that a
// serial recomputation without any network gives.
#include "tests/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "ledger/run_database.h"

namespace interlude {
namespace {

using testing::HasSubstr;

struct Case {
  uint32_t workers;
  ExchangeMode exchange;
  CodecKind codec;
  uint64_t params;
};

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return fmt::format("{}Workers{}{}With{}Params", info.param.workers,
                     info.param.exchange == ExchangeMode::kBarrier ? "Barrier" : "Pipelined",
                     CodecName(static_cast<Codec>(info.param.codec)), info.param.params);
}

class EveryMode : public testing::TestWithParam<Case> {};

TEST_P(EveryMode, AllCopiesAreBitIdenticalToTheSerialReplay) {
  RunConfig config = SyntheticConfig(GetParam().params, 256, 3);
  config.round.exchange = GetParam().exchange;
  config.round.codec = GetParam().codec;
  ClusterOptions options;
  options.config = config;
  options.workers = GetParam().workers;
  options.directory = FreshDirectory("every-mode");
  const ClusterResult result = RunCluster(options);

  ASSERT_TRUE(result.outcome.ok()) << result.outcome.status().ToString();
  EXPECT_EQ(result.outcome->rounds, 3u);
  EXPECT_EQ(result.outcome->workers_lost, 0u);
  const std::vector<float> expected = ReplaySerially(config, options.workers, 3);
  ASSERT_EQ(result.parameters.size(), options.workers);
  for (const auto& [worker, values] : result.parameters) {
    EXPECT_TRUE(SameBits(values, expected)) << "worker " << worker;
  }
  for (const auto& worker : result.workers) {
    ASSERT_TRUE(worker.ok()) << worker.status().ToString();
    EXPECT_EQ(worker->root_hash, result.outcome->root_hash);
    EXPECT_EQ(worker->rounds, 3u);
  }
  const auto model = ReadModel(result.outcome->model_path, LayoutOf(config));
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_TRUE(SameBits(*model, expected));
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const ExchangeMode exchange : {ExchangeMode::kPipelined, ExchangeMode::kBarrier}) {
    for (const CodecKind codec : {CodecKind::kQ4, CodecKind::kQ8, CodecKind::kFp32}) {
      for (const uint32_t workers : {1u, 2u, 3u, 8u})
        cases.push_back({workers, exchange, codec, 1000});
      // a whole number of chunks; a last chunk of a single value; less than one block
      for (const uint64_t params : {512u, 513u, 17u}) cases.push_back({2, exchange, codec, params});
    }
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Cluster, EveryMode, testing::ValuesIn(AllCases()), CaseName);

/// The rounds that a person sees go by.
class RoundNumbers final : public RunObserver {
 public:
  void RoundEnded(const RoundLine& line) override { numbers.push_back(line.round); }
  std::vector<uint32_t> numbers;
};

TEST(Cluster, EveryMergeRuleGivesTheBitsOfTheSerialReplay) {
  for (const MergeRuleKind rule :
       {MergeRuleKind::kMean, MergeRuleKind::kTrimmedMean, MergeRuleKind::kCoordinateMedian}) {
    ClusterOptions options;
    options.config.outer.merge = rule;
    options.config.outer.norm_bound = 1;
    options.workers = 3;
    options.directory = FreshDirectory("every-rule");
    ExpectSerialCopies(RunCluster(options), options);
  }
}

TEST(Cluster, APluginThatRepeatsTheBuiltInRulesGivesTheirBitsAndIsNotedInTheLedger) {
  ClusterOptions options;
  options.config.outer.plugin = INTERLUDE_TEST_PLUGIN;
  options.directory = FreshDirectory("plugin");
  ExpectSerialCopies(RunCluster(options), options);
  const auto database = RunDatabase::OpenReadOnly(options.directory + "/run.db").value();
  EXPECT_EQ(database->GetMeta("merge_plugin").value(), "mean and nesterov");
  EXPECT_EQ(database->GetMeta("merge_plugin_hash").value()->size(), 32u);
}

TEST(Cluster, RoundsCountFromOneOnTheScreenAndInTheLedger) {
  RoundNumbers seen;
  ClusterOptions options;
  options.directory = FreshDirectory("numbers");
  options.observer = &seen;
  ASSERT_TRUE(RunCluster(options).outcome.ok());
  EXPECT_THAT(seen.numbers, testing::ElementsAre(1, 2, 3));
  const auto database = RunDatabase::OpenReadOnly(options.directory + "/run.db");
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  std::vector<uint32_t> stored;
  for (const RoundRecord& round : (*database)->Rounds().value()) stored.push_back(round.round);
  EXPECT_EQ(stored, seen.numbers);
}

TEST(Cluster, LeavesALedgerOfEveryPhaseOfEveryWorker) {
  ClusterOptions options;
  options.workers = 2;
  options.directory = FreshDirectory("ledger");
  const ClusterResult result = RunCluster(options);
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.status().ToString();

  const auto database = RunDatabase::OpenReadOnly(options.directory + "/run.db");
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  const std::vector<RoundRecord> rounds = (*database)->Rounds().value();
  ASSERT_EQ(rounds.size(), 3u);
  for (size_t i = 1; i < rounds.size(); ++i)
    EXPECT_EQ(rounds[i].begin_ns, rounds[i - 1].end_ns) << "rounds tile";
  // A round is trained from the commit before it on, so its first delta may overtake the last
  // report, where the record lets it begin.
  EXPECT_LT(rounds[0].begin_ns, rounds[0].first_delta_ns);
  for (size_t i = 1; i < rounds.size(); ++i)
    EXPECT_LT(rounds[i - 1].committed_ns, rounds[i].first_delta_ns);
  for (const RoundRecord& round : rounds) {
    EXPECT_LE(round.first_delta_ns, round.last_delta_ns);
    EXPECT_LE(round.last_delta_ns, round.committed_ns);
    EXPECT_LT(round.committed_ns, round.end_ns);
    EXPECT_EQ(round.workers, 2u);
  }
  const std::vector<Span> spans = (*database)->Spans().value();
  const auto count = [&](Phase phase, uint32_t round, int32_t by) {
    return std::count_if(spans.begin(), spans.end(), [&](const Span& span) {
      return span.phase == phase && span.round == round && span.recorded_by == by;
    });
  };
  for (uint32_t round = 1; round <= 3; ++round) {
    for (const int32_t worker : {0, 1}) {
      for (const Phase phase : {Phase::kTrain, Phase::kEncode, Phase::kUpload, Phase::kWait,
                                Phase::kDownload, Phase::kApply, Phase::kVerify}) {
        EXPECT_EQ(count(phase, round, worker), 1)
            << PhaseName(phase) << " of worker " << worker << " in " << round;
      }
    }
    for (const Phase phase : {Phase::kMerge, Phase::kRound}) {
      EXPECT_EQ(count(phase, round, kNoWorker), 1) << PhaseName(phase) << " in " << round;
    }
    for (const Phase phase : {Phase::kReceive, Phase::kJournal, Phase::kSend}) {
      EXPECT_GE(count(phase, round, kNoWorker), 2) << PhaseName(phase) << " in " << round;
    }
  }
  for (const int32_t worker : {0, 1}) EXPECT_EQ(count(Phase::kPrepare, kBeforeRounds, worker), 1);
  EXPECT_EQ(count(Phase::kShareBase, kBeforeRounds, 0), 1) << "worker 0 gave the first base";
  EXPECT_EQ(count(Phase::kReceive, kBeforeRounds, kNoWorker), 1);
  for (const WorkerRecord& worker : (*database)->Workers().value()) EXPECT_EQ(worker.threads, 1);
  const std::vector<WorkerRoundRecord> parts = (*database)->WorkerRounds().value();
  ASSERT_EQ(parts.size(), 6u);
  for (const WorkerRoundRecord& part : parts) {
    EXPECT_EQ(part.root_hash, rounds[part.round - 1].root_hash);
    // 1000 params in chunks of 256: 15 whole blocks and one short, 34 bytes each
    EXPECT_EQ(part.upload_bytes, 16u * 34u);
    EXPECT_EQ(part.download_bytes, 16u * 34u);
  }
}

/// Stamps of a phase by chunk, over all that it is about, in order of their ends.
std::map<uint32_t, std::vector<ChunkStamp>> StampsOf(RunDatabase& database, uint32_t round,
                                                     Phase phase) {
  std::map<uint32_t, std::vector<ChunkStamp>> by_chunk;
  for (const ChunkStamps& stamps : database.Stamps().value()) {
    if (stamps.round != round || stamps.phase != phase) continue;
    for (const ChunkStamp& stamp : stamps.stamps) by_chunk[stamp.chunk].push_back(stamp);
  }
  for (auto& [chunk, stamps] : by_chunk) {
    std::ranges::sort(stamps, {}, &ChunkStamp::end_ns);
  }
  return by_chunk;
}

TEST(Cluster, RecordsWhatWasDecidedOfEachChunkBetweenItsCauseAndItsEffect) {
  for (const ExchangeMode exchange : {ExchangeMode::kPipelined, ExchangeMode::kBarrier}) {
    ClusterOptions options;
    options.config.round.exchange = exchange;
    options.directory = FreshDirectory("decided");
    ASSERT_TRUE(RunCluster(options).outcome.ok());
    const auto database = RunDatabase::OpenReadOnly(options.directory + "/run.db");
    ASSERT_TRUE(database.ok());
    const auto received = StampsOf(**database, 2, Phase::kReceive);
    const auto merged = StampsOf(**database, 2, Phase::kMerge);
    const auto sent = StampsOf(**database, 2, Phase::kSend);
    const auto decided = StampsOf(**database, 2, Phase::kDecide);
    EXPECT_EQ(decided.size(), 4u);
    for (const auto& [chunk, decisions] : decided) {
      ASSERT_EQ(decisions.size(), 2u) << "chunk " << chunk;
      EXPECT_LE(received.at(chunk).back().end_ns, decisions[0].begin_ns);
      EXPECT_LE(decisions[0].end_ns, merged.at(chunk).front().begin_ns);
      EXPECT_LE(merged.at(chunk).front().end_ns, decisions[1].begin_ns);
      for (const ChunkStamp& send : sent.at(chunk)) EXPECT_LE(decisions[1].end_ns, send.begin_ns);
    }
    std::map<Phase, int> spans;
    for (const Span& span : (*database)->Spans().value()) spans[span.phase] += span.round == 2;
    EXPECT_EQ(spans[Phase::kAsk], 2) << "one a worker";
    EXPECT_EQ(spans[Phase::kCall], 4) << "one opened and one closed, a worker";
    EXPECT_EQ(spans[Phase::kLedger], 1);
  }
}

TEST(Cluster, ADirectoryThatHoldsARunIsRefused) {
  ClusterOptions options;
  options.workers = 1;
  options.config.round.rounds = 1;
  options.directory = FreshDirectory("twice");
  ASSERT_TRUE(RunCluster(options).outcome.ok());
  const ClusterResult second = RunCluster(options);
  ASSERT_EQ(second.outcome.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(second.outcome.status().message(), HasSubstr("already holds a finished run"));
}

}  // namespace
}  // namespace interlude
