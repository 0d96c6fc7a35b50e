#include "ledger/run_database_watch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <utility>

#include "ledger/run_database.h"

namespace interlude {
namespace {

class RunDatabaseWatchTest : public testing::Test {
 protected:
  RunDatabaseWatchTest() {
    std::string pattern = testing::TempDir() + "/watch-XXXXXX";
    scratch_ = mkdtemp(pattern.data());
  }
  ~RunDatabaseWatchTest() override { std::filesystem::remove_all(scratch_); }
  std::string Path() const { return scratch_ + "/run.db"; }

  std::string scratch_;
};

TEST_F(RunDatabaseWatchTest, ANumberStaysUntilSomebodyWrites) {
  auto writer = RunDatabase::Create(Path()).value();
  auto watch = RunDatabaseWatch::Open(Path()).value();
  int64_t last = watch->Version().value();
  EXPECT_EQ(watch->Version().value(), last);
  ASSERT_TRUE(writer->SetMeta("title", "a run").ok());
  EXPECT_NE(watch->Version().value(), std::exchange(last, watch->Version().value()));
  for (uint32_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(writer->AddRound({.round = round}, {}, {}).ok());
    const int64_t now = watch->Version().value();
    EXPECT_NE(now, last) << "round " << round;
    EXPECT_EQ(watch->Version().value(), now);
    last = now;
  }
}

TEST_F(RunDatabaseWatchTest, ARefusedWriteChangesNothing) {
  auto writer = RunDatabase::Create(Path()).value();
  ASSERT_TRUE(writer->AddRound({.round = 1}, {}, {}).ok());
  auto watch = RunDatabaseWatch::Open(Path()).value();
  const int64_t before = watch->Version().value();
  ASSERT_EQ(writer->AddRound({.round = 1}, {}, {}).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(watch->Version().value(), before);
}

TEST_F(RunDatabaseWatchTest, TheWriterLeavesAPlainFileWhenTheWatchIsClosedBeforeIt) {
  auto writer = RunDatabase::Create(Path()).value();
  auto watch = RunDatabaseWatch::Open(Path()).value();
  ASSERT_TRUE(writer->SetMeta("title", "a run").ok());
  ASSERT_TRUE(watch->Version().ok());
  watch.reset();
  writer.reset();
  EXPECT_FALSE(std::filesystem::exists(Path() + "-wal"));
}

TEST_F(RunDatabaseWatchTest, WhatIsNoDatabaseIsAnError) {
  EXPECT_EQ(RunDatabaseWatch::Open(Path()).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace interlude
