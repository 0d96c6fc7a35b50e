#include "analysis/compare_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "analysis/analyze_run.h"
#include "analysis/path_summary.h"
#include "base/rng.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Kind = ActivityKind;
constexpr Kind kKinds[] = {Kind::kTrain, Kind::kEncode, Kind::kUpload,     Kind::kLinkUp,
                           Kind::kMerge, Kind::kVerify, Kind::kUnexplained};

/// A round whose path has these pieces, one after the other.
RoundPath PathOf(uint32_t round, const std::vector<std::pair<Kind, int64_t>>& pieces) {
  RoundPath path{.round = round, .begin_ns = round * 1'000'000'000'000, .end_ns = path.begin_ns};
  for (const auto& [what, ns] : pieces) {
    path.pieces.push_back({.what = what, .begin_ns = path.end_ns, .end_ns = path.end_ns + ns});
    path.end_ns += ns;
  }
  path.workers.push_back({.worker = 0, .clock = {.source = ClockSource::kProbes}});
  return path;
}

RunSummary RunOf(std::vector<RoundPath> paths) {
  RunSummary run;
  for (const RoundPath& path : paths) run.rounds.push_back({.round = path.round});
  run.paths = std::move(paths);
  return run;
}

/// Rounds with any number of pieces of up to 100 ms, some kinds more than once, some not at all.
RunSummary RandomRun(Rng& rng, uint32_t rounds) {
  std::vector<RoundPath> paths;
  for (uint32_t round = 1; round <= rounds; ++round) {
    std::vector<std::pair<Kind, int64_t>> pieces;
    for (uint64_t left = 1 + rng.Below(12); left > 0; --left)
      pieces.emplace_back(kKinds[rng.Below(std::size(kKinds))], 1 + rng.Below(100'000'000));
    paths.push_back(PathOf(round, pieces));
  }
  return RunOf(std::move(paths));
}

/// Training of 1 s and merging of 50 ms, with a noise of 1 and 0.5 ms.
RunSummary SteadyRun(uint64_t seed, uint32_t rounds, int64_t train_ns = 1'000'000'000) {
  Rng rng(seed);
  std::vector<RoundPath> paths;
  for (uint32_t round = 1; round <= rounds; ++round) {
    const auto noise = [&] {  // nearly normal, standard deviation 1
      double sum = -6;
      for (int i = 0; i < 12; ++i) sum += rng.Uniform();
      return sum;
    };
    paths.push_back(PathOf(round, {{Kind::kTrain, train_ns + std::llround(1e6 * noise())},
                                   {Kind::kMerge, 50'000'000 + std::llround(5e5 * noise())}}));
  }
  return RunOf(std::move(paths));
}

const PathChange& Row(const RunComparison& comparison, Kind what) {
  for (const PathChange& row : comparison.path.rows) {
    if (row.what == what) return row;
  }
  ADD_FAILURE() << "no row of " << ActivityName(what);
  return comparison.path.round;
}

TEST(CompareRuns, TheRowsAddUpToTheRoundExactly) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const RunSummary a = RandomRun(rng, 1 + rng.Below(30)), b = RandomRun(rng, 1 + rng.Below(30));
    const PathComparison path = CompareRuns(a, b).path;
    int64_t sum_a = 0, sum_b = 0;
    double differences = 0;
    for (const PathChange& row : path.rows) {
      sum_a += row.a_ns;
      sum_b += row.b_ns;
      differences += row.difference_ns;
    }
    EXPECT_EQ(sum_a, path.round.a_ns) << "seed " << seed;
    EXPECT_EQ(sum_b, path.round.b_ns) << "seed " << seed;
    EXPECT_NEAR(differences, path.round.difference_ns, 1e-3) << "but for rounding of each";
  }
}

TEST(CompareRuns, ARunAgainstItselfHasNoDifference) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    const RunSummary run = RandomRun(rng, 20);
    const RunComparison comparison = CompareRuns(run, run);
    for (const PathChange& row : comparison.path.rows) {
      EXPECT_EQ(row.difference_ns, 0);
      EXPECT_FALSE(row.changed());
    }
    EXPECT_EQ(comparison.path.round.difference_ns, 0);
    EXPECT_FALSE(comparison.path.round.changed());
    EXPECT_TRUE(comparison.settings.empty());
  }
}

TEST(CompareRuns, WhenTheTwoChangePlacesEachDifferenceChangesItsSignAndNothingElse) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const RunSummary a = RandomRun(rng, 1 + rng.Below(30)), b = RandomRun(rng, 1 + rng.Below(30));
    const PathComparison there = CompareRuns(a, b).path, back = CompareRuns(b, a).path;
    ASSERT_EQ(there.rows.size(), back.rows.size());
    for (size_t i = 0; i < there.rows.size(); ++i) {
      EXPECT_EQ(there.rows[i].what, back.rows[i].what);
      EXPECT_EQ(there.rows[i].difference_ns, -back.rows[i].difference_ns);
      EXPECT_EQ(there.rows[i].give_or_take_ns, back.rows[i].give_or_take_ns);
      EXPECT_EQ(there.rows[i].changed(), back.rows[i].changed());
    }
    EXPECT_EQ(there.round.difference_ns, -back.round.difference_ns);
  }
}

TEST(CompareRuns, SaysSeldomThatSomethingChangedWhereNothingDid) {
  int alarms = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const PathComparison path =
        CompareRuns(SteadyRun(2 * seed, 21), SteadyRun(2 * seed + 1, 21)).path;
    bool alarm = path.round.changed();
    for (const PathChange& row : path.rows) alarm = alarm || row.changed();
    alarms += alarm ? 1 : 0;
  }
  EXPECT_LE(alarms, 50 + 21) << "5 % and three times the binomial's standard deviation";
}

TEST(CompareRuns, FindsAShiftOfFiveStandardDeviationsAndOnlyThere) {
  int false_alarms = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const RunComparison comparison =
        CompareRuns(SteadyRun(2 * seed, 21), SteadyRun(2 * seed + 1, 21, 995'000'000));
    EXPECT_TRUE(Row(comparison, Kind::kTrain).changed()) << "seed " << seed;
    EXPECT_TRUE(comparison.path.round.changed()) << "seed " << seed;
    EXPECT_EQ(comparison.path.rows.front().what, Kind::kTrain);
    false_alarms += Row(comparison, Kind::kMerge).changed() ? 1 : 0;
  }
  EXPECT_LE(false_alarms, 10 + 9);
}

TEST(CompareRuns, AKindThatOnlyOneRunHasCountsAsZeroInTheOther) {
  const RunSummary a = RunOf({PathOf(1, {{Kind::kTrain, 10}})});
  const RunSummary b = RunOf({PathOf(1, {{Kind::kTrain, 10}, {Kind::kSave, 4}})});
  const RunComparison comparison = CompareRuns(a, b);
  EXPECT_EQ(Row(comparison, Kind::kSave).a_ns, 0);
  EXPECT_EQ(Row(comparison, Kind::kSave).difference_ns, 4);
}

TEST(CompareRuns, ComparesTheRoundsOfBothWithoutTheFirstAndWithoutThoseThatHaveNoWholePath) {
  RunSummary a = SteadyRun(1, 10), b = SteadyRun(2, 12);
  a.paths[0].pieces.clear();
  a.paths[3].pieces.clear();
  b.paths[4].workers[0].clock.source = ClockSource::kNone;
  b.paths.erase(b.paths.begin() + 5);
  b.paths[5].workers.clear();  // round 7
  const PathComparison path = CompareRuns(a, b).path;
  EXPECT_EQ(path.rounds, 5u) << "2, 3, 8, 9, 10";
  EXPECT_TRUE(path.without_first);
  EXPECT_EQ(path.without_path, 3u);
  EXPECT_EQ(path.only_in_a, 1u);
  EXPECT_EQ(path.only_in_b, 2u);
  const PathComparison one = CompareRuns(SteadyRun(1, 10), SteadyRun(2, 1)).path;
  EXPECT_EQ(one.rounds, 1u) << "there is no other";
  EXPECT_FALSE(one.without_first);
  const PathComparison none = CompareRuns(SteadyRun(1, 3), RunOf({})).path;
  EXPECT_EQ(none.rounds, 0u);
  EXPECT_TRUE(none.rows.empty());
}

TEST(CompareRuns, WhatDependsOnTheRoundsNumberIsNoNoise) {
  RunSummary a = SteadyRun(1, 21), b = SteadyRun(2, 21, 990'000'000);
  for (RunSummary* run : {&a, &b}) {
    for (size_t i = 0; i < run->paths.size(); i += 5) {
      RoundPath& path = run->paths[i];
      path.pieces.push_back({.what = Kind::kEvaluate,
                             .begin_ns = path.end_ns,
                             .end_ns = path.end_ns + 2'000'000'000});
      path.end_ns += 2'000'000'000;
    }
  }
  const RunComparison comparison = CompareRuns(a, b);
  EXPECT_TRUE(comparison.path.round.changed());
  EXPECT_EQ(Row(comparison, Kind::kEvaluate).give_or_take_ns, 0.0);
}

TEST(CompareRuns, OfNonsenseLengthsTheSumsStopAtWhat64BitsHold) {
  constexpr int64_t kLongest = int64_t{1} << 61, kMost = std::numeric_limits<int64_t>::max();
  RunSummary run;
  for (uint32_t round = 1; round <= 10; ++round) {
    run.paths.push_back(PathOf(0, {{Kind::kTrain, kLongest}}));
    run.paths.back().round = round;
    run.paths.back().workers[0].drag_ns = kLongest;
  }
  const PathComparison path = CompareRuns(run, SteadyRun(1, 10)).path;
  EXPECT_EQ(path.round.a_ns, kMost);
  EXPECT_EQ(Row({.path = path}, Kind::kTrain).a_ns, kMost);
  const PathSummary summary = SummarizePaths(run.paths);
  EXPECT_EQ(summary.wall_ns, kMost);
  EXPECT_EQ(summary.sums.at({Kind::kTrain, kNoWorker}), kMost);
  EXPECT_EQ(summary.workers.at(0).drag_ns, kMost);
}

TEST(CompareRuns, OfTooFewRoundsNoNoiseIsClaimedAndNothingChanged) {
  const PathComparison path = CompareRuns(SteadyRun(1, 5), SteadyRun(2, 50, 5'000'000)).path;
  EXPECT_EQ(path.rounds, 4u);
  for (const PathChange& row : path.rows) {
    EXPECT_FALSE(row.give_or_take_ns.has_value());
    EXPECT_FALSE(row.changed());
  }
  EXPECT_TRUE(CompareRuns(SteadyRun(1, 6), SteadyRun(2, 6, 5'000'000)).path.round.changed());
}

std::vector<std::string> Lines(const std::vector<SettingChange>& settings) {
  std::vector<std::string> lines;
  for (const SettingChange& setting : settings)
    lines.push_back(setting.key + ": " + setting.a.value_or("-") + " > " + setting.b.value_or("-"));
  return lines;
}

TEST(CompareRuns, NamesTheSettingsThatDifferAndNoOthers) {
  RunSummary a, b;
  a.meta = {
      {"config",
       "# A run\n\n# of what (any)\nseed = 1\n\n[round]\n# a = b\nrounds = 5\ncodec = \"q4\"\n"},
      {"started_at", "2025"},
      {"codec", "q4"},
      {"software", "0.1"},
      {"parameters", "7"}};
  b.meta = {{"config", "seed = 1\n[round]\nrounds = 6\ncodec = \"fp32\"\n[outer]\nlr = 0.7\n"},
            {"started_at", "2026"},
            {"codec", "fp32"},
            {"software", "0.2"},
            {"parameters", "7"}};
  a.workers = {{.record = {.worker = 0, .host = "x", .threads = 2}}, {.record = {.worker = 1}}};
  b.workers = {{.record = {.worker = 0, .host = "y", .quota_cores = 1.5, .threads = 2}}};
  EXPECT_THAT(Lines(CompareRuns(a, b).settings),
              ElementsAre("outer.lr: - > 0.7", "round.codec: \"q4\" > \"fp32\"",
                          "round.rounds: 5 > 6", "software: 0.1 > 0.2", "worker 0 host: x > y",
                          "worker 0 quota: none > 1.50 CPUs"));
}

TEST(CompareRuns, WhereARunHasNoConfigurationTheCodecIsAmongTheSettings) {
  RunSummary a, b;
  a.meta = {{"codec", "q4"}, {"config", "seed = 1"}};
  b.meta = {{"codec", "fp32"}};
  EXPECT_THAT(Lines(CompareRuns(a, b).settings), ElementsAre("codec: q4 > fp32"));
}

RunSummary RunWithRoots(const std::map<uint32_t, std::string>& roots) {
  RunSummary run;
  for (const auto& [round, root] : roots)
    run.rounds.push_back({.round = round, .mean_loss = 1.0 / round, .root_hash = root});
  return run;
}

TEST(CompareRuns, SaysUpToWhichRoundTheParametersAreTheSame) {
  const RunSummary a = RunWithRoots({{1, "x"}, {2, "y"}, {4, "z"}, {5, "v"}, {6, "w"}});
  const RunSummary b = RunWithRoots({{1, "x"}, {3, "?"}, {4, "z"}, {5, "V"}, {6, "w"}});
  const SameParameters differ = CompareRuns(a, b).parameters;
  EXPECT_EQ(differ.rounds, 4u);
  EXPECT_EQ(differ.last_same, 4u);
  EXPECT_EQ(differ.first_differs, 5u);
  const SameParameters same = CompareRuns(a, a).parameters;
  EXPECT_EQ(same.last_same, 6u);
  EXPECT_FALSE(same.first_differs.has_value());
  EXPECT_EQ(CompareRuns(a, RunWithRoots({{7, "x"}})).parameters.rounds, 0u);
}

std::optional<double> FigureOf(const RunComparison& comparison, std::string_view name, bool of_b) {
  for (const FigureChange& figure : comparison.figures) {
    if (figure.name == name) return of_b ? figure.b : figure.a;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(CompareRuns, LossIsThatOfTheLastRoundOfBoth) {
  const RunComparison comparison =
      CompareRuns(RunWithRoots({{1, ""}, {2, ""}, {4, ""}}), RunWithRoots({{2, ""}, {3, ""}}));
  EXPECT_EQ(FigureOf(comparison, "loss_in_last_of_both", false), 0.5);
  EXPECT_EQ(FigureOf(comparison, "loss_in_last_of_both", true), 0.5);
  const RunComparison none = CompareRuns(RunWithRoots({{1, ""}}), RunWithRoots({{2, ""}}));
  EXPECT_FALSE(FigureOf(none, "loss_in_last_of_both", true).has_value());
}

TEST(CompareRuns, MemoryIsHeldWhenTheLastSampleIsFromAfterTheLastRound) {
  RunSummary a = RunOf({PathOf(1, {{Kind::kTrain, 100}})}), b = a;
  const int64_t end = a.paths[0].end_ns;
  a.records.samples = {{.at_ns = end - 1, .rss_bytes = 7, .peak_rss_bytes = 9},
                       {.recorded_by = 3, .at_ns = end + 9, .rss_bytes = 11}};
  b.records.samples = {{.at_ns = end + 1, .rss_bytes = 5}, {.at_ns = end - 1, .rss_bytes = 8}};
  const RunComparison comparison = CompareRuns(a, b);
  EXPECT_FALSE(FigureOf(comparison, "coordinator_held_bytes", false).has_value());
  EXPECT_EQ(FigureOf(comparison, "coordinator_held_bytes", true), 5);
  EXPECT_EQ(FigureOf(comparison, "coordinator_peak_bytes", false), 9);
  EXPECT_EQ(FigureOf(comparison, "coordinator_peak_bytes", true), 8);
  EXPECT_EQ(FigureOf(comparison, "worker_peak_bytes", false), 11);
  EXPECT_FALSE(FigureOf(comparison, "worker_peak_bytes", true).has_value());
}

TEST(CompareRuns, TellsNewFindingsFromThoseThatAreGoneAndThoseOfBoth) {
  RunSummary a, b;
  for (const char* id : {"gone", "stays", "twice"}) a.findings.push_back({.id = id});
  for (const char* id : {"twice", "new", "twice", "stays"}) b.findings.push_back({.id = id});
  std::vector<std::string> seen;
  for (const FindingChange& change : CompareRuns(a, b).findings)
    seen.push_back(change.any().id + (change.a ? " A" : "") + (change.b ? " B" : ""));
  EXPECT_THAT(seen, ElementsAre("new B", "twice B", "gone A", "twice A B", "stays A B"));
}

TEST(CompareRuns, AFindingOfBothIsAboutAWorkerOfBoth) {
  RunSummary a, b;
  a.findings = {{.id = "slow", .workers = {0}},
                {.id = "late", .workers = {0, 2}},
                {.id = "grows", .workers = {1}},
                {.id = "grows"}};
  b.findings = {{.id = "slow", .workers = {2}},
                {.id = "late", .workers = {2, 3}},
                {.id = "grows"},
                {.id = "grows", .workers = {1}}};
  std::vector<std::string> seen;
  for (const FindingChange& change : CompareRuns(a, b).findings) {
    std::string& text = seen.emplace_back(change.any().id);
    if (change.a) text += " A " + WorkersText(change.a->workers);
    if (change.b) text += " B " + WorkersText(change.b->workers);
  }
  EXPECT_THAT(seen, ElementsAre("slow B worker 2", "slow A worker 0",
                                "late A workers 0 and 2 B workers 2 and 3",
                                "grows A workers  B workers ", "grows A worker 1 B worker 1"));
}

TEST(CompareRuns, WorkersAreThoseOfBothWithTheirDrag) {
  RunSummary a = SteadyRun(1, 3), b = SteadyRun(2, 3);
  a.workers = {{.record = {.worker = 0}, .train_seconds = 2}, {.record = {.worker = 1}}};
  b.workers = {{.record = {.worker = 0}, .train_seconds = 3}, {.record = {.worker = 2}}};
  for (RoundPath& path : b.paths) path.workers[0].drag_ns = 500'000'000;
  const std::vector<WorkerChange> workers = CompareRuns(a, b).workers;
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_EQ(workers[0].a.train_seconds, 2);
  EXPECT_EQ(workers[0].b.train_seconds, 3);
  EXPECT_EQ(workers[0].a.drag_seconds, 0);
  EXPECT_EQ(workers[0].b.drag_seconds, 0.5);
}

TEST(CheckComparable, TellsWhatARunLacks) {
  EXPECT_TRUE(CheckComparable(SteadyRun(1, 3)).ok());
  EXPECT_THAT(CheckComparable({}).message(), HasSubstr("no round has finished"));
  RunSummary blind = SteadyRun(1, 3);
  for (RoundPath& path : blind.paths) path.workers[0].clock.source = ClockSource::kNone;
  EXPECT_THAT(CheckComparable(blind).message(), HasSubstr("none of its 3 rounds"));
  for (RoundPath& path : blind.paths) path.workers.clear();
  EXPECT_THAT(CheckComparable(blind).message(), HasSubstr("there is no record of theirs"));
  blind.meta[kMetaAccount] = kNoAccount;
  EXPECT_THAT(CheckComparable(blind).message(), HasSubstr("recorded without an account"));
  for (const char* old : {"v1.db", "v2.db"}) {
    const auto database =
        RunDatabase::OpenReadOnly(std::string(INTERLUDE_SOURCE_DIR "/testdata/run_db/") + old);
    ASSERT_TRUE(database.ok()) << database.status().ToString();
    const Status status = CheckComparable(*AnalyzeRun(**database));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("Run it again with this version"));
  }
}

}  // namespace
}  // namespace interlude
