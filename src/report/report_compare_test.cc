#include "report/report_compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/analyze_run.h"
#include "report/golden.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunSummary RecordedRun() {
  auto run = AnalyzeRunDirectory(INTERLUDE_SOURCE_DIR "/testdata/run_db");
  EXPECT_TRUE(run.ok()) << run.status().ToString();
  run->meta[kMetaConfig] = "[round]\nlocal_steps = 24\n";
  return std::move(run).value();
}

/// The path's pieces stay one after the other.
void Shorten(RoundPath& path, ActivityKind what, int64_t by_ns) {
  int64_t end_ns = path.begin_ns;
  for (PathPiece& piece : path.pieces) {
    int64_t length = piece.end_ns - piece.begin_ns;
    if (piece.what == what) length -= std::exchange(by_ns, 0);
    piece.begin_ns = end_ns;
    piece.end_ns = end_ns += length;
  }
  path.end_ns = end_ns;
}

/// As the recorded run would have been with its worker 2 mended: it trains some 450 ms less. From
/// round 4 on its parameters are others.
RunSummary MendedRun() {
  RunSummary run = RecordedRun();
  for (RoundPath& path : run.paths)
    Shorten(path, ActivityKind::kTrain, (450 + 7 * (path.round % 3)) * 1'000'000);
  for (RoundSummary& round : run.rounds) {
    if (round.round >= 4) round.root_hash += "ff";
  }
  run.meta[kMetaStartedAt] = "2025-01-31T13:00:00Z";
  run.meta[kMetaConfig] = "[round]\nlocal_steps = 20\n";
  run.workers[2].record.quota_cores = 0;
  run.workers[2].record.usable_cores = 8;
  run.workers[2].train_seconds = 2.14;
  run.samples_per_second *= 1.17;
  run.findings.clear();
  return run;
}

std::string TextOf(const RunSummary& a, const RunSummary& b) {
  return FormatComparison(CompareRuns(a, b), {"runs/before", a}, {"runs/after", b});
}

std::string JsonOf(const RunSummary& a, const RunSummary& b) {
  return FormatComparisonJson(CompareRuns(a, b), {"runs/before", a}, {"runs/after", b});
}

TEST(RunComparisonReport, OfTheRecordedRunAndItsMendedOneIsTheGoldenText) {
  const std::string text = TextOf(RecordedRun(), MendedRun());
  ExpectGolden("comparison.txt", text);
  EXPECT_LE(WidestLine(text), kReportWidth);
}

TEST(RunComparisonReport, AsJsonIsTheGoldenJson) {
  ExpectGolden("comparison.json", JsonOf(RecordedRun(), MendedRun()));
}

TEST(RunComparisonReport, EveryFieldOfTheJsonIsOnTheDocsPages) {
  EXPECT_GT(ExpectDocumented(JsonOf(MendedRun(), RecordedRun())), 40u);
}

TEST(RunComparisonReport, TheRowsOfTheJsonAddUpToItsRound) {
  const auto json = nlohmann::json::parse(JsonOf(RecordedRun(), MendedRun()));
  for (const char* key : {"a_sum_ns", "b_sum_ns"}) {
    int64_t sum = 0;
    for (const auto& row : json["path"]["rows"]) sum += row[key].get<int64_t>();
    EXPECT_EQ(sum, json["path"]["round"][key].get<int64_t>()) << key;
  }
}

TEST(RunComparisonReport, OfARunAndItselfSaysThatNothingChanged) {
  const RunSummary run = RecordedRun();
  const std::string text = TextOf(run, run);
  EXPECT_THAT(text, HasSubstr(": no difference, give or take 0 ms"));
  EXPECT_THAT(text, HasSubstr("No row of the critical path changed by more than the noise."));
  EXPECT_THAT(text, HasSubstr("the same, bit for bit, in all 6 rounds"));
  EXPECT_THAT(text, HasSubstr("Settings that differ\n  none\n"));
  EXPECT_THAT(text, HasSubstr("in both, here of B: worker 2 takes"));
  EXPECT_THAT(text, Not(HasSubstr("  changed\n")));
}

TEST(RunComparisonReport, AFindingOfBothSaysWhatIsOtherInA) {
  RunSummary a = RecordedRun(), b = a;
  b.findings.resize(1);
  a.findings = b.findings;
  a.findings[0].workers = {0, 2};
  a.findings[0].saves_ns_per_round = 7'000'000'000;
  EXPECT_THAT(TextOf(a, b), HasSubstr("(in A of workers 0 and 2, 7.00 s)"));
  const auto change = nlohmann::json::parse(JsonOf(a, b))["findings"][0];
  EXPECT_EQ(change["a"]["workers"], nlohmann::json({0, 2}));
  EXPECT_EQ(change["b"]["workers"], nlohmann::json::array({2}));
}

TEST(RunComparisonReport, OfShortRunsClaimsNoNoise) {
  RunSummary a = RecordedRun();
  a.paths.resize(3);
  const std::string text = TextOf(a, MendedRun());
  EXPECT_THAT(text, HasSubstr("needs 5 rounds, and there are 2."));
  EXPECT_THAT(text, HasSubstr("too few rounds"));
  EXPECT_THAT(text, Not(HasSubstr("give or take")));
  const auto json = nlohmann::json::parse(JsonOf(a, MendedRun()));
  EXPECT_TRUE(json["path"]["round"]["give_or_take_ns"].is_null());
  EXPECT_TRUE(json["path"]["round"]["changed"].is_null());
}

TEST(RunComparisonReport, TextFromOtherMachinesCannotWriteToTheTerminalNorPushColumnsOut) {
  RunSummary a = RecordedRun(), b = RecordedRun();
  b.meta["outcome"] = "\x1b[2J" + std::string(500, 'x') + "\xff";
  b.workers[0].record.host = "\x1b]0;evil\xff";
  const std::string text = TextOf(a, b);
  EXPECT_EQ(text.find_first_of("\x1b\xff"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(JsonOf(a, b))["settings"][0]["key"], "outcome");
  a.meta.erase("outcome");
  b.meta["outcome"] = "finished";
  EXPECT_LE(WidestLine(TextOf(a, b)), kReportWidth);
}

TEST(RunComparisonReport, ManySettingsAndWorkersAreCutShort) {
  RunSummary a = RecordedRun(), b = RecordedRun();
  for (int i = 0; i < 100; ++i) {
    b.meta["key" + std::to_string(i)] = std::string(100, 'v');
    WorkerSummary worker;
    worker.record.worker = 100 + i;
    a.workers.push_back(worker);
    b.workers.push_back(worker);
  }
  const std::string text = TextOf(a, b);
  EXPECT_THAT(text, HasSubstr("... 60 more; --json has all"));
  EXPECT_THAT(text, HasSubstr("... 79 more; --json has all"));
  EXPECT_LE(WidestLine(text), kReportWidth);
  EXPECT_EQ(nlohmann::json::parse(JsonOf(a, b))["settings"].size(), 100u);
}

}  // namespace
}  // namespace interlude
