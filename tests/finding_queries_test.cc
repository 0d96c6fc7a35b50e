// The queries that findings name as their records, run on a database that holds them.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "analysis/finding_examples.h"
#include "ledger/run_database.h"

namespace interlude {
namespace {

void Store(const FindingTables& tables, RunDatabase& database) {
  for (const WorkerRecord& worker : tables.tables.workers)
    ASSERT_TRUE(database.AddWorker(worker).ok());
  for (const RoundRecord& round : tables.tables.rounds) {
    std::vector<WorkerRoundRecord> parts;
    Account account;
    for (const WorkerRoundRecord& part : tables.tables.parts) {
      if (part.round == round.round) parts.push_back(part);
    }
    for (const Span& span : tables.tables.spans) {
      if (span.round == round.round) account.spans.push_back(span);
    }
    for (const Phase phase : {Phase::kMerge, Phase::kSave}) {
      account.spans.push_back(
          {.phase = phase, .round = round.round, .begin_ns = 1, .end_ns = 2, .busy_ns = 1});
    }
    account.spans.push_back({.phase = Phase::kEvaluate,
                             .round = round.round,
                             .recorded_by = 0,
                             .begin_ns = 1,
                             .end_ns = 2});
    ASSERT_TRUE(database.AddRound(round, parts, account).ok());
  }
  Account account;
  account.samples.assign(tables.tables.samples.begin(), tables.tables.samples.end());
  account.memory.push_back({.at_ns = 1, .owner = "parameters", .bytes = 5});
  ASSERT_TRUE(database.AddAccount(account).ok());
  for (const ClockRecord& clock : tables.clocks)
    ASSERT_TRUE(database.AddClock(clock.round, clock.estimate).ok());
  for (const EventRecord& event : tables.events) ASSERT_TRUE(database.AddEvent(event).ok());
}

TEST(FindingQueriesTest, EachFindsTheRecordsOfItsFinding) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "interlude_finding_queries";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (FindingExample& example : FindingExamples()) {
    SCOPED_TRACE(example.id);
    const std::string path = folder / (example.id + ".db");
    {
      const auto database = RunDatabase::Create(path);
      ASSERT_TRUE(database.ok()) << database.status().ToString();
      Store(example.Tables(), **database);
    }
    SQLite::Database database(path, SQLite::OPEN_READONLY);
    for (const Finding& finding : example.Find()) {
      SQLite::Statement query(database, finding.records);
      EXPECT_TRUE(query.executeStep()) << finding.records;
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace interlude
