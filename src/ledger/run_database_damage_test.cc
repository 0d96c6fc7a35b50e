// What OpenReadOnly says to files that are damaged, cut short, foreign or newer.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "ledger/run_database.h"
#include "ledger/sample_run.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class RunDatabaseDamage : public ::testing::Test {
 protected:
  RunDatabaseDamage() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ =
        fs::path(::testing::TempDir()) / fmt::format("damage_{}_{}", test->name(), ::getpid());
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~RunDatabaseDamage() override { fs::remove_all(directory_); }

  std::string Path() const { return directory_ / "run.db"; }

  std::string SampleBytes() {
    {
      auto database = RunDatabase::Create(Path());
      EXPECT_TRUE(WriteSampleRun(**database).ok());
    }
    std::ifstream file(Path(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  void WriteFile(const std::string& bytes) {
    std::ofstream(Path(), std::ios::binary | std::ios::trunc) << bytes;
  }

  /// Opens and reads all of it: the first error, or OK.
  Status ReadAll() {
    INTERLUDE_ASSIGN_OR_RETURN(const auto database, RunDatabase::OpenReadOnly(Path()));
    INTERLUDE_RETURN_IF_ERROR(database->Meta().status());
    INTERLUDE_RETURN_IF_ERROR(database->Workers().status());
    INTERLUDE_RETURN_IF_ERROR(database->Rounds().status());
    INTERLUDE_RETURN_IF_ERROR(database->WorkerRounds().status());
    INTERLUDE_RETURN_IF_ERROR(database->Spans().status());
    INTERLUDE_RETURN_IF_ERROR(database->Stamps().status());
    INTERLUDE_RETURN_IF_ERROR(database->Samples().status());
    INTERLUDE_RETURN_IF_ERROR(database->Memory().status());
    INTERLUDE_RETURN_IF_ERROR(database->Probes().status());
    INTERLUDE_RETURN_IF_ERROR(database->Clocks().status());
    INTERLUDE_RETURN_IF_ERROR(database->Evaluations().status());
    return database->Events().status();
  }

  fs::path directory_;
};

TEST_F(RunDatabaseDamage, AFileCutShortAnywhereIsDataLoss) {
  const std::string whole = SampleBytes();
  ASSERT_TRUE(ReadAll().ok());
  for (size_t size = 0; size < whole.size(); size += size < 256 ? 17 : 1021) {
    WriteFile(whole.substr(0, size));
    const Status status = ReadAll();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss)
        << size << " of " << whole.size() << ": " << status.ToString();
  }
  WriteFile(whole.substr(0, whole.size() - 1));
  EXPECT_EQ(ReadAll().code(), StatusCode::kDataLoss);
}

TEST_F(RunDatabaseDamage, AReaderThatIsStoppedReadsNoMore) {
  {
    auto database = RunDatabase::Create(Path());
    ASSERT_TRUE((*database)->AddAccount({.spans = std::vector<Span>(3000)}).ok());
  }
  const auto database = *RunDatabase::OpenToFollow(Path());
  EXPECT_EQ(database->Spans()->size(), 3000u);
  database->Stop();
  EXPECT_EQ(database->Spans().status().code(), StatusCode::kInternal);
}

TEST_F(RunDatabaseDamage, AFlippedByteIsReadOrRefusedButNeverAnythingElse) {
  const std::string whole = SampleBytes();
  size_t refused = 0;
  for (size_t at = 0; at < whole.size(); at += at < 128 ? 1 : 509) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(~bytes[at]);
    WriteFile(bytes);
    const Status status = ReadAll();
    if (status.ok()) continue;
    ++refused;
    // A flip in the version number makes a file of a newer program; one in the header's journal
    // mode makes a file that wants a log beside it.
    EXPECT_TRUE(status.code() == StatusCode::kDataLoss ||
                status.code() == StatusCode::kFailedPrecondition ||
                status.code() == StatusCode::kPermissionDenied)
        << at << ": " << status.ToString();
  }
  EXPECT_GT(refused, 16u);  // the magic at the least
}

TEST_F(RunDatabaseDamage, AFileThatIsNotSqliteIsDataLoss) {
  WriteFile(std::string(8192, 'x'));
  EXPECT_EQ(ReadAll().code(), StatusCode::kDataLoss);
}

TEST_F(RunDatabaseDamage, ADirectoryIsDataLoss) {
  fs::create_directory(Path());
  EXPECT_EQ(ReadAll().code(), StatusCode::kDataLoss);
}

TEST_F(RunDatabaseDamage, AnotherProgramsDatabaseIsDataLoss) {
  {
    SQLite::Database(Path(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
        .exec("CREATE TABLE rounds (a)");
  }
  const Status status = ReadAll();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("not one of interlude's runs"));
}

TEST_F(RunDatabaseDamage, ANewerVersionIsAFailedPrecondition) {
  SampleBytes();
  { SQLite::Database(Path(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 5"); }
  const Status status = ReadAll();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("schema version 5"));
}

TEST_F(RunDatabaseDamage, AMissingTableIsDataLoss) {
  for (const char* table :
       {"events", "spans", "chunk_stamps", "sample_rows", "memory", "clock_probes", "clocks"}) {
    fs::remove(Path());
    SampleBytes();
    { SQLite::Database(Path(), SQLite::OPEN_READWRITE).exec(fmt::format("DROP TABLE {}", table)); }
    EXPECT_EQ(ReadAll().code(), StatusCode::kDataLoss) << table;
  }
}

TEST_F(RunDatabaseDamage, AViewWithoutEndInPlaceOfATableIsDataLoss) {
  for (const char* name : {"rounds", "Rounds"}) {
    fs::remove(Path());
    SampleBytes();
    {
      SQLite::Database database(Path(), SQLite::OPEN_READWRITE);
      database.exec(
          fmt::format("DROP TABLE rounds; CREATE VIEW {} AS WITH RECURSIVE r(n) AS "
                      "(SELECT 1 UNION ALL SELECT n FROM r) SELECT n AS round, "
                      "0 AS begin_ns, 0 AS end_ns, 0 AS committed_ns, "
                      "0 AS first_delta_ns, 0 AS last_delta_ns, 0 AS first_sync_ns, "
                      "'' AS root_hash, 0 AS workers, 0 AS samples, 0 AS mean_loss "
                      "FROM r",
                      name));
    }
    const auto opened = RunDatabase::OpenReadOnly(Path());
    EXPECT_EQ(opened.status().code(), StatusCode::kDataLoss);
    EXPECT_THAT(opened.status().message(), HasSubstr("views in place of tables"));
  }
}

TEST_F(RunDatabaseDamage, AnUnknownMethodOfAClockIsDataLoss) {
  SampleBytes();
  {
    SQLite::Database(Path(), SQLite::OPEN_READWRITE)
        .exec("PRAGMA ignore_check_constraints = ON; UPDATE clocks SET method = 'guess'");
  }
  EXPECT_EQ(ReadAll().code(), StatusCode::kDataLoss);  // by SQLite's check of the file
}

TEST_F(RunDatabaseDamage, EveryTruncationOfTheStampsOfAFileIsReadOrDataLoss) {
  SampleBytes();
  SQLite::Database(Path(), SQLite::OPEN_READWRITE).exec("DELETE FROM chunk_stamps WHERE id > 1");
  for (int cut = 0; cut < 40; ++cut) {
    SQLite::Database(Path(), SQLite::OPEN_READWRITE)
        .exec(
            "UPDATE chunk_stamps SET stamps = substr(stamps, 1, length(stamps) - 1) "
            "WHERE length(stamps) > 0");
    const Status status = ReadAll();
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kDataLoss) << status.ToString();
  }
  EXPECT_TRUE(ReadAll().ok());  // nothing is left
}

TEST_F(RunDatabaseDamage, EveryTruncationOfTheProbesOfAFileIsReadOrDataLoss) {
  SampleBytes();
  SQLite::Database(Path(), SQLite::OPEN_READWRITE).exec("DELETE FROM clock_probes WHERE id > 1");
  for (int cut = 0; cut < 60; ++cut) {
    SQLite::Database(Path(), SQLite::OPEN_READWRITE)
        .exec(
            "UPDATE clock_probes SET probes = substr(probes, 1, length(probes) - 1) "
            "WHERE length(probes) > 0");
    const Status status = ReadAll();
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kDataLoss) << status.ToString();
  }
  SQLite::Database(Path(), SQLite::OPEN_READWRITE).exec("UPDATE clock_probes SET probes = x''");
  EXPECT_TRUE(ReadAll().ok());
}

TEST_F(RunDatabaseDamage, ValuesThatCannotBeAreDataLoss) {
  for (const char* change :
       {"UPDATE spans SET phase = 'dance' WHERE id = 3",
        "UPDATE rounds SET samples = -1 WHERE round = 2",
        "UPDATE worker_rounds SET repaired_chunks = 4294967296",
        "UPDATE spans SET recorded_by = -3000000000 WHERE id = 9",
        "UPDATE chunk_stamps SET phase = '' WHERE id = 5",
        "UPDATE chunk_stamps SET stamps = substr(stamps, 1, 3) WHERE id = 5",
        "UPDATE chunk_stamps SET round = -1", "UPDATE sample_rows SET recorded_by = 4294967296",
        "UPDATE memory SET recorded_by = 4294967296", "UPDATE clock_probes SET worker = 4294967296",
        "UPDATE sample_rows SET cpu_us = 9223372036854775807 WHERE id = 4",
        "UPDATE clock_probes SET probes = x'80'", "UPDATE clocks SET round = -2 WHERE id = 2",
        "UPDATE clocks SET probes = -1", "UPDATE worker_rounds SET scaled_chunks = -1"}) {
    fs::remove(Path());
    SampleBytes();
    { SQLite::Database(Path(), SQLite::OPEN_READWRITE).exec(change); }
    const Status status = ReadAll();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << change << ": " << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr("impossible value")) << change;
  }
}

}  // namespace
}  // namespace interlude
