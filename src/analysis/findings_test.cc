#include "analysis/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/cause_world.h"
#include "analysis/finding_examples.h"

namespace interlude {
namespace {

using S = ProcessSample;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr double kMs = 1e6;

std::vector<std::string> Ids(const std::vector<Finding>& findings) {
  std::vector<std::string> ids;
  for (const Finding& finding : findings) ids.push_back(finding.id);
  return ids;
}

TEST(FindingsTest, EachExampleShowsItsFindingAndNoOther) {
  for (FindingExample& example : FindingExamples()) {
    EXPECT_THAT(Ids(example.Find()), ElementsAre(example.id));
  }
}

TEST(FindingsTest, EachSaysWhatItRestsOnAndWhatToTry) {
  for (FindingExample& example : FindingExamples()) {
    for (const Finding& finding : example.Find()) {
      SCOPED_TRACE(finding.text);
      EXPECT_THAT(finding.text,
                  HasSubstr(std::string("(") + std::string(GradeName(finding.grade))));
      EXPECT_THAT(finding.evidence, ::testing::Not(IsEmpty()));
      EXPECT_THAT(finding.records, StartsWith("SELECT "));
      EXPECT_THAT(finding.try_this, ::testing::EndsWith("."));
      EXPECT_GE(finding.saves_ns_per_round, 0);
      EXPECT_GE(finding.round_share, 0);
      EXPECT_LE(finding.round_share, 1);
    }
  }
}

TEST(FindingsTest, AStragglerIsToldWithItsFiguresAndWhatItCosts) {
  FindingExample example = FindingExamples().front();
  const std::vector<Finding> findings = example.Find();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].text,
            "worker 1 takes 17.0 x as long as the median worker to encode (1.70 s against 100 ms, "
            "in rounds 4 to 9): its cgroup allows 0.25 of 8 visible CPUs and throttled it for 1.59 "
            "s of it (observed)");
  // Six of eleven measured rounds were 1.598 s longer.
  EXPECT_EQ(findings[0].saves_ns_per_round, 6 * 1'598'000'000LL / 11);
}

TEST(FindingsTest, ThePathsDragIsWhatMendingSaves) {
  FindingExample example = FindingExamples().front();
  for (uint32_t round = 4; round <= 9; ++round) example.drags[{round, 1}] = 500'000'000;
  EXPECT_EQ(example.Find().at(0).saves_ns_per_round, 6 * 500'000'000LL / 11);
  for (auto& [key, drag] : example.drags) drag = 10'000'000;
  EXPECT_THAT(example.Find(), IsEmpty()) << "the path says that it would save nothing";
}

TEST(FindingsTest, WorkersThatAreSlowForTheSameReasonAreOneFinding) {
  FindingExample example;
  example.world = CauseWorld(8, 12);
  for (const int32_t worker : {3, 7}) {
    example.world.record(worker).quota_cores = 0.25;
    for (int32_t any = 0; any < 8; ++any) example.world.record(any).threads = 1;
    for (uint32_t round = 2; round <= 12; ++round) {
      example.world.Set(worker, round, Phase::kEncode, {98, 1600.0 + worker, 0});
      example.world.AddFigure(worker, round, Phase::kEncode, &S::throttled_ns, 1590 * kMs);
    }
  }
  const std::vector<Finding> findings = example.Find();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].text, StartsWith("workers 3 and 7 take 17.0 x as long as the median"));
  EXPECT_GT(findings[0].saves_ns_per_round, 1'500'000'000) << "both together";
}

TEST(FindingsTest, NobodyIsTheSlowOneWhereItIsAnotherInEachRound) {
  FindingExample example;
  for (uint32_t round = 2; round <= 12; ++round)
    example.world.Set(static_cast<int32_t>(round % 3), round, Phase::kTrain, {2000, 1, 1200});
  const std::vector<Finding> findings = example.Find();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].text, StartsWith("now one, now another of workers 0, 1 and 2 takes "));
  EXPECT_THAT(findings[0].try_this, StartsWith("No one machine"));

  FindingExample mostly_one;
  for (uint32_t round = 2; round <= 12; ++round)
    mostly_one.world.Set(round % 4 == 0 ? 0 : 1, round, Phase::kTrain, {2000, 1, 1200});
  EXPECT_THAT(mostly_one.Find().at(0).text, StartsWith("workers 0 and 1 take "));
}

TEST(FindingsTest, TheyAreSortedByWhatTheySaveAndWrongResultsComeFirst) {
  FindingExample example = FindingExamples().front();
  example.differing_hash = true;
  example.path = PathOf(example.world.Tables(), {{"save", 0.8}, {"evaluate", 0.06}});
  EXPECT_THAT(Ids(example.Find()), ElementsAre("parameters_differ", "save_on_path",
                                               "straggler_quota_encode", "evaluation_on_path"));
}

TEST(FindingsTest, OneHiccupOfALongRunIsNotWorthASentence) {
  FindingExample example;
  example.world = CauseWorld(3, 200);
  example.world.Set(1, 77, Phase::kTrain, {400, 1, 1200});
  EXPECT_THAT(FindCauses(example.world.Tables()), SizeIs(1));
  EXPECT_THAT(example.Find(), IsEmpty());
}

TEST(FindingsTest, TheFirstRoundIsNoStraggler) {
  FindingExample example;
  example.world.Set(1, 1, Phase::kTrain, {400, 1, 4000});
  EXPECT_THAT(example.Find(), IsEmpty());
}

/// Three workers that each train for a second; in each round one or two wait for pictures.
FindingExample Loading(double waited_0_ms, double waited_1_ms) {
  FindingExample example;
  for (uint32_t round = 1; round <= 12; ++round) {
    example.world.SetLoading(0, round, waited_0_ms, 256);
    example.world.SetLoading(1, round, waited_1_ms, 512);
    example.world.SetLoading(2, round, 0, 256);
  }
  return example;
}

TEST(FindingsTest, WaitingForPicturesIsToldFromTwoPercentOfTheTraining) {
  EXPECT_THAT(Loading(20, 20).Find(), IsEmpty()) << "2 % each";
  FindingExample example = Loading(20, 120);
  const Finding finding = example.Find().at(0);
  EXPECT_EQ(finding.id, "training_waits_for_pictures");
  EXPECT_THAT(finding.workers, ElementsAre(1));
  EXPECT_EQ(finding.text,
            "worker 1 waited for pictures for 12 % of its training, 120 ms a round (observed)");
  // 512 ms of 1280 samples; training takes 400 ms of CPU a second.
  EXPECT_THAT(finding.evidence,
              ElementsAre("For each second that worker 1 trained, 512 ms of CPU time went into "
                          "pictures; its process had 0.4 of 8 usable CPUs, and 0.4 of its "
                          "machine's were busy.",
                          "A picture took 400 us of CPU time in the first third of the rounds, "
                          "400 us in the last."));
  EXPECT_EQ(finding.saves_ns_per_round, 0) << "nothing is known of the path";

  const Finding both = Loading(30, 120).Find().at(0);
  EXPECT_THAT(both.workers, ElementsAre(0, 1));
  EXPECT_EQ(both.text,
            "workers 0 and 1 waited for pictures for up to 12 % of their training, 120 ms a round "
            "(observed)");
  EXPECT_EQ(both.evidence.at(0), "Waited of their training: worker 1 12 %, worker 0 3.0 %.");
}

TEST(FindingsTest, WaitingForPicturesSavesWhatNoOtherTrainingTakes) {
  const auto saves = [](FindingExample example, double train_share, int32_t worker) {
    const CauseTables tables = example.world.Tables();
    for (const RoundRecord& round : tables.rounds) {
      const auto wall = static_cast<double>(round.end_ns - round.begin_ns);
      example.path.push_back(
          {round.round, "train", worker, static_cast<int64_t>(train_share * wall)});
    }
    return example.Find().at(0);
  };
  // Worker 2 trains as long and waits for nothing.
  const Finding hidden = saves(Loading(0, 120), 0.7, 1);
  EXPECT_EQ(hidden.saves_ns_per_round, 0);
  EXPECT_THAT(hidden.evidence, Contains(HasSubstr("No round would end sooner")));

  // Worker 1 is 80 ms longer than the others for its waiting.
  FindingExample longest = Loading(0, 120);
  for (uint32_t round = 1; round <= 12; ++round)
    longest.world.Set(1, round, Phase::kTrain, {400, 1, 679});
  const Finding finding = saves(longest, 0.7, 1);
  EXPECT_EQ(finding.saves_ns_per_round, 80'000'000);
  EXPECT_THAT(finding.evidence,
              Contains("Without the wait rounds would end 80.0 ms sooner at most: that much of it "
                       "is on the critical path."));
  EXPECT_EQ(saves(longest, 0.7, 0).saves_ns_per_round, 0) << "another's training is on the path";
  EXPECT_LT(saves(longest, 0.01, 1).saves_ns_per_round, 20'000'000) << "hardly any of it is";
}

TEST(FindingsTest, WhatToTryForPicturesFollowsFromTheEvidence) {
  const auto advice = [](FindingExample example) { return example.Find().at(0).try_this; };
  const FindingExample plain = Loading(0, 120);
  EXPECT_THAT(advice(plain), AllOf(HasSubstr("(data.cache_mb)"), HasSubstr("Cores were free")));

  FindingExample uncached = plain;
  uncached.config = "[train]\ncache = true\n[data]\ncache = false\nname = \"pets\"\n";
  EXPECT_THAT(advice(uncached), StartsWith("Keep decoded pictures in memory (data.cache)"));

  FindingExample first_epoch = plain;
  for (uint32_t round = 6; round <= 12; ++round) first_epoch.world.SetLoading(1, round, 10, 40);
  EXPECT_THAT(advice(first_epoch), StartsWith("It was worst while the first epoch decoded"));

  FindingExample full = plain;
  full.world.SetAll(Phase::kTrain, {900, 1, 99});
  for (int32_t worker = 0; worker < 3; ++worker) full.world.record(worker).usable_cores = 1;
  EXPECT_THAT(advice(full), HasSubstr("All cores were busy"));

  FindingExample others = plain;
  for (uint32_t round = 1; round <= 12; ++round) {
    for (const Phase phase : {Phase::kTrain, Phase::kEncode, Phase::kUpload, Phase::kWait,
                              Phase::kDownload, Phase::kApply, Phase::kVerify})
      others.world.AddFigure(1, round, phase, &S::machine_busy_ns, 2000 * kMs);
  }
  EXPECT_THAT(advice(others), HasSubstr("All cores were busy")) << "with other processes";

  FindingExample disk = plain;
  for (uint32_t round = 1; round <= 12; ++round) disk.world.SetLoading(1, round, 120, 30);
  EXPECT_THAT(advice(disk), HasSubstr("the files come slowly"));

  FindingExample in_memory = plain;
  in_memory.config = "[data]\nname = \"cifar10\"\n";
  EXPECT_THAT(advice(in_memory), HasSubstr("(data.loader_threads)"));
}

TEST(FindingsTest, ACleanRunHasNone) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    FindingExample example;
    example.world = CauseWorld(static_cast<int32_t>(1 + seed % 6), 12);
    example.world.AddNoise(1000 + seed, 0.025);
    for (uint32_t round = 1; round <= 12; ++round) example.world.SetLoading(0, round, 15, 900);
    example.path = PathOf(example.world.Tables(), {{"link_up", 0.05},
                                                   {"merge", 0.02},
                                                   {"evaluate", 0.03},
                                                   {"unexplained", 0.01},
                                                   {"save", 0.005}});
    example.parameters = 1'000'000;
    EventRecord joined;
    joined.kind = "worker_joined";
    example.events.push_back(joined);
    ClockRecord clock;
    clock.estimate.method = ClockMethod::kEnvelope;
    clock.estimate.error_ns = 300'000;
    example.clocks.push_back(clock);
    EXPECT_THAT(Ids(example.Find()), IsEmpty()) << "seed " << seed;
  }
}

TEST(FindingsTest, AnEmptyRunHasNone) { EXPECT_THAT(FindFindings({}, {}, {}, {}), IsEmpty()); }

}  // namespace
}  // namespace interlude
