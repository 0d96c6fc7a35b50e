// Whose a run's directory is, and what is said to those whose it is not.
#include "coordinator/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "config/run_config.h"
#include "store/temporary_directory.h"

namespace interlude {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RunDirectoryTest : public testing::Test {
 protected:
  RunDirectoryTest() { config_.round.rounds = 5; }

  StatusOr<RunDirectory> Open(uint32_t workers = 2) {
    return OpenRunDirectory(path_, config_, workers);
  }
  // As a coordinator of two workers that was killed after a round.
  void LeaveARun(const std::string& outcome = "killed") {
    const RunDirectory directory = Open().value();
    RunDatabase& database = *directory.database;
    ASSERT_TRUE(database.SetMeta("run_id", "the run").ok());
    ASSERT_TRUE(database.SetMeta("workers", "2").ok());
    ASSERT_TRUE(database.SetMeta(kMetaConfig, FormatRunConfig(config_)).ok());
    ASSERT_TRUE(database.SetMeta(kMetaOutcome, outcome).ok());
    ASSERT_TRUE(database.AddRound({.round = 1}, {}, {}).ok());
  }

  const TemporaryDirectory scratch_;
  const std::string path_ = scratch_.File("deep/run");
  RunConfig config_;
};

TEST_F(RunDirectoryTest, ANewOneIsMade) {
  const auto directory = Open();
  ASSERT_TRUE(directory.ok()) << directory.status().ToString();
  EXPECT_FALSE(directory->run_id);
  EXPECT_EQ(directory->committed_rounds, 0u);
}

TEST_F(RunDirectoryTest, ARunThatWasNotFinishedIsTakenUp) {
  LeaveARun("stopped by a signal");
  const auto directory = Open();
  ASSERT_TRUE(directory.ok()) << directory.status().ToString();
  EXPECT_EQ(directory->run_id, "the run");
  EXPECT_EQ(directory->committed_rounds, 1u);
}

TEST_F(RunDirectoryTest, ARunThatWasKilledBeforeItHadSaidWhatItIsHindersNobody) {
  ASSERT_TRUE(Open().value().database->SetMeta("run_id", "the run").ok());
  EXPECT_TRUE(Open(7).ok());
}

TEST_F(RunDirectoryTest, AFinishedRunIsRefused) {
  LeaveARun("finished");
  const Status status = Open().status();
  EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(path_), HasSubstr("another --dir")));
}

TEST_F(RunDirectoryTest, AnotherConfigurationIsRefusedAndTheKeyNamed) {
  LeaveARun();
  config_.round.rounds = 6;
  const Status status = Open().status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("round.rounds = 6, and 5 there"),
                                      HasSubstr("start it with the same one to go on")));
}

TEST_F(RunDirectoryTest, AnotherNumberOfWorkersIsRefused) {
  LeaveARun();
  const Status status = Open(3).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("of 2 workers, not of 3"));
}

TEST_F(RunDirectoryTest, OneThatAnotherCoordinatorUsesIsRefused) {
  const auto first = Open();
  ASSERT_TRUE(first.ok());
  const Status status = Open().status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("in use by another coordinator"));
}

TEST_F(RunDirectoryTest, ADamagedRunDatabaseIsPutAside) {
  constexpr size_t kPage = 16'384;  // of run.db; the byte says of what kind a page is
  const std::string database = path_ + "/run.db";
  int number = 0;
  for (const char* damage : {"cut", "nonsense", "flipped", "empty"}) {
    LeaveARun();
    std::string bytes = ReadWholeFile(database);
    ASSERT_GT(bytes.size(), 8192u);
    if (damage == std::string("cut")) bytes.resize(bytes.size() / 2 + 100);
    if (damage == std::string("nonsense")) bytes.assign(5000, 'x');
    if (damage == std::string("flipped")) bytes[bytes.size() / 2 / kPage * kPage] ^= '\xff';
    if (damage == std::string("empty")) bytes.clear();
    WriteWholeFile(database, bytes);
    const auto directory = Open();
    ASSERT_TRUE(directory.ok()) << damage << ": " << directory.status().ToString();
    EXPECT_FALSE(directory->run_id) << damage;
    EXPECT_EQ(ReadWholeFile(database + ".damaged-" + std::to_string(++number)), bytes) << damage;
    std::filesystem::remove(database);
  }
}

TEST_F(RunDirectoryTest, ADirectoryThatCannotBeMadeIsNamed) {
  WriteWholeFile(scratch_.File("deep"), "a file");
  const Status status = Open().status();
  EXPECT_THAT(status.message(), AllOf(HasSubstr(path_), HasSubstr("another --dir")));
}

}  // namespace
}  // namespace interlude
