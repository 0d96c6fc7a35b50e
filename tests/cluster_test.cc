// Whole runs over real gRPC: every copy of the model must be the same bits, and the bits that a
// serial recomputation without any network gives.
#include "tests/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

#include "ledger/run_database.h"
#include "store/model_facts.h"
#include "store/safetensors.h"
#include "worker/forwarding_trainer.h"
#include "worker/host_model_copy.h"
#include "worker/synthetic_trainer.h"

namespace interlude {
namespace {

using testing::HasSubstr;

Layout LayoutOf(const RunConfig& config) {
  return CreateSyntheticTrainer(config, 0, 1).value()->layout();
}

struct Case {
  uint32_t workers;
  ExchangeMode exchange;
  CodecKind codec;
  uint64_t params;
};

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return fmt::format("{}Workers{}{}With{}Params", info.param.workers,
                     info.param.exchange == ExchangeMode::kBarrier ? "Barrier" : "Pipelined",
                     info.param.codec == CodecKind::kQ4 ? "Q4" : "Fp32", info.param.params);
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
    for (const CodecKind codec : {CodecKind::kQ4, CodecKind::kFp32}) {
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
    const ClusterResult result = RunCluster(options);
    ASSERT_TRUE(result.outcome.ok()) << result.outcome.status().ToString();
    const std::vector<float> expected = ReplaySerially(options.config, 3, 3);
    ASSERT_EQ(result.parameters.size(), 3u);
    for (const auto& [worker, values] : result.parameters) {
      EXPECT_TRUE(SameBits(values, expected)) << "worker " << worker;
    }
  }
}

/// Its parameters are a placeholder: the file that the first base is made of is not here.
class Placeholder final : public ForwardingTrainer {
 public:
  explicit Placeholder(std::unique_ptr<LocalTrainer> inner) : ForwardingTrainer(std::move(inner)) {
    for (float& value : parameters()) value = 7;
  }
  bool MayProvideBase() const override { return false; }
};

TEST(Cluster, WorkersWithoutThePretrainedFileGetTheBaseOfOneThatHasIt) {
  ClusterOptions options;
  options.workers = 3;
  options.directory = FreshDirectory("placeholder");
  options.hook = [](std::unique_ptr<LocalTrainer> trainer,
                    WorkerId worker) -> std::unique_ptr<LocalTrainer> {
    if (worker == 2) return trainer;
    return std::make_unique<Placeholder>(std::move(trainer));
  };
  const ClusterResult result = RunCluster(options);
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.status().ToString();
  const std::vector<float> expected = ReplaySerially(options.config, 3, 3);
  ASSERT_EQ(result.parameters.size(), 3u);
  for (const auto& [worker, values] : result.parameters) {
    EXPECT_TRUE(SameBits(values, expected)) << "worker " << worker;
  }
}

TEST(Cluster, ARunInWhichNobodyHasThePretrainedFileEndsAndSaysSo) {
  ClusterOptions options;
  options.directory = FreshDirectory("all-placeholders");
  options.hook = [](std::unique_ptr<LocalTrainer> trainer, WorkerId) {
    return std::make_unique<Placeholder>(std::move(trainer));
  };
  const ClusterResult result = RunCluster(options);
  EXPECT_THAT(result.outcome.status().message(), testing::HasSubstr("model.pretrained"));
}

TEST(Cluster, APluginThatRepeatsTheBuiltInRulesGivesTheirBitsAndIsNotedInTheLedger) {
  ClusterOptions options;
  options.config.outer.plugin = INTERLUDE_TEST_PLUGIN;
  options.directory = FreshDirectory("plugin");
  const ClusterResult result = RunCluster(options);
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.status().ToString();
  const std::vector<float> expected = ReplaySerially(options.config, 2, 3);
  ASSERT_EQ(result.parameters.size(), 2u);
  for (const auto& [worker, values] : result.parameters) EXPECT_TRUE(SameBits(values, expected));
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

// Says that so much of the test set is right after so many rounds.
class ScriptedScores final : public ForwardingTrainer {
 public:
  ScriptedScores(std::unique_ptr<LocalTrainer> inner, std::vector<uint64_t> correct)
      : ForwardingTrainer(std::move(inner)), correct_(std::move(correct)) {}

  DataFacts data_facts() const override { return {{"cat", "dog"}, {0.5f}, {0.25f}}; }
  StatusOr<EvaluationResult> Evaluate(uint32_t /*part*/, uint32_t /*parts*/) override {
    const uint64_t correct = correct_.at(evaluations_++);
    return EvaluationResult{.correct = correct,
                            .samples = 10,
                            .loss_sum = 1,
                            .classes = 2,
                            .top5 = 10,
                            .confusion = {{0, 0, correct}, {0, 1, 10 - correct}}};
  }

 private:
  const std::vector<uint64_t> correct_;
  size_t evaluations_ = 0;
};

StatusOr<std::map<std::string, std::string>> FactsOf(const std::string& path) {
  INTERLUDE_ASSIGN_OR_RETURN(const SafetensorsHeader header, ReadSafetensorsHeader(path));
  return header.metadata;
}

TEST(Cluster, KeepsTheBestModelTheLastOneAndTheAverage) {
  ClusterOptions options;
  options.config = SyntheticConfig(1000, 256, 5);
  options.config.round.evaluate_every = 1;
  options.config.outer.ema_decay = 0.5;
  options.directory = FreshDirectory("best");
  options.hook = [](std::unique_ptr<LocalTrainer> trainer, WorkerId) {
    return std::make_unique<ScriptedScores>(std::move(trainer),
                                            std::vector<uint64_t>{3, 8, 8, 5, 7});
  };
  const ClusterResult result = RunCluster(options);
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.status().ToString();
  const Layout layout = LayoutOf(options.config);

  const auto best = ReadModel(options.directory + "/model-best.safetensors", layout);
  ASSERT_TRUE(best.ok()) << best.status().ToString();
  EXPECT_TRUE(SameBits(*best, ReplaySerially(options.config, options.workers, 2)));
  auto facts = FactsOf(options.directory + "/model-best.safetensors");
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ((*facts)[kModelRounds], "2");
  EXPECT_EQ((*facts)[kModelAccuracy], "0.8");
  EXPECT_EQ((*facts)[kModelClasses], "[\"cat\",\"dog\"]");
  EXPECT_EQ((*facts)[kModelNormalization], "{\"mean\": [0.5], \"deviation\": [0.25]}");
  EXPECT_EQ((*facts)[kModelConfig], FormatRunConfig(options.config));

  facts = FactsOf(result.outcome->model_path);
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ((*facts)[kModelRounds], "5");
  EXPECT_EQ((*facts)[kModelAccuracy], "0.7");
  EXPECT_EQ((*facts)[kModelRootHash], result.outcome->root_hash);

  const auto average = ReadModel(options.directory + "/model-ema.safetensors", layout);
  ASSERT_TRUE(average.ok()) << average.status().ToString();
  std::vector<double> expected(average->size());
  double weights = 0;
  for (uint32_t round = 1; round <= 5; ++round) {
    const std::vector<float> base = ReplaySerially(options.config, options.workers, round);
    weights = 0.5 * weights + 1;
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = 0.5 * expected[i] + base[i];
  }
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR((*average)[i], expected[i] / weights, 1e-6);

  auto database = RunDatabase::OpenReadOnly(options.directory + "/run.db");
  ASSERT_TRUE(database.ok());
  const auto evaluations = (*database)->Evaluations().value();
  ASSERT_EQ(evaluations.size(), 5u);
  EXPECT_EQ(evaluations[1].top5, 20u);
  EXPECT_EQ(evaluations[1].confusion, (Confusion{{0, 0, 16}, {0, 1, 4}}));
  EXPECT_EQ((*database)->GetMeta(kMetaClasses)->value_or(""), "[\"cat\",\"dog\"]");
}

TEST(Cluster, SavesNoBestModelWhereItIsNotAskedFor) {
  ClusterOptions options;
  options.directory = FreshDirectory("no-best");
  ASSERT_TRUE(RunCluster(options).outcome.ok());
  EXPECT_FALSE(std::filesystem::exists(options.directory + "/model-best.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(options.directory + "/model-ema.safetensors"));
  options.config.round.evaluate_every = 1;
  options.config.round.save_best = false;
  options.directory = FreshDirectory("no-best-either");
  ASSERT_TRUE(RunCluster(options).outcome.ok());
  EXPECT_FALSE(std::filesystem::exists(options.directory + "/model-best.safetensors"));
}

TEST(Cluster, EvaluatesEveryKRoundsAndAtTheEnd) {
  ClusterOptions options;
  options.config.round.rounds = 4;
  options.config.round.evaluate_every = 2;
  options.workers = 3;
  options.directory = FreshDirectory("evaluate");
  const ClusterResult result = RunCluster(options);
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.status().ToString();
  EXPECT_TRUE(result.outcome->accuracy.has_value());
  const auto database = RunDatabase::OpenReadOnly(options.directory + "/run.db");
  ASSERT_TRUE(database.ok());
  std::vector<uint32_t> after;
  for (const EvaluationRecord& evaluation : (*database)->Evaluations().value()) {
    after.push_back(evaluation.after_rounds);
    EXPECT_EQ(evaluation.samples, result.outcome->test_samples)
        << "every sample is scored by one worker";
  }
  EXPECT_THAT(after, testing::ElementsAre(2, 4));
}

TEST(Cluster, AJoinerWithAFlippedBitIsRepairedByExactlyItsChunk) {
  ClusterOptions options;
  options.workers = 3;
  options.directory = FreshDirectory("flipped");
  options.hook = [](std::unique_ptr<LocalTrainer> trainer, WorkerId worker) {
    return worker == 2 ? FlipOneBit(std::move(trainer), 300) : std::move(trainer);
  };
  const ClusterResult result = RunCluster(options);
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.status().ToString();
  const std::vector<float> expected = ReplaySerially(options.config, 3, 3);
  for (const auto& [worker, values] : result.parameters)
    EXPECT_TRUE(SameBits(values, expected)) << worker;
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

TEST(Cluster, AFlippedBitOfTheBaseIsRepairedInItsRoundByExactlyItsChunk) {
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
    const ClusterResult result = RunCluster(options);
    ASSERT_TRUE(result.outcome.ok()) << result.outcome.status().ToString();
    const std::vector<float> expected = ReplaySerially(options.config, 2, 3);
    for (const auto& [worker, values] : result.parameters)
      EXPECT_TRUE(SameBits(values, expected)) << worker;
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

TEST(Cluster, ANanIsNamedAndTheOthersGoOn) {
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

TEST(Cluster, WhenTheOnlyWorkerFailsTheRunEndsWithItsReason) {
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
