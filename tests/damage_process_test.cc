// What the programs say and do where the disk is full, read-only or damaged, or files may not be
// opened. File systems of a few megabytes are mounted for it; where that is not permitted, the
// tests skip.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/exit_codes.h"
#include "ledger/run_database.h"
#include "tests/process.h"

namespace interlude {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Arguments = std::vector<std::string>;

class DamageTest : public testing::Test {
 protected:
  DamageTest() {
    std::string pattern = testing::TempDir() + "/damage-XXXXXX";
    scratch_ = mkdtemp(pattern.data());
    disk_ = scratch_ + "/disk";
    std::filesystem::create_directory(disk_);
    directory_ = disk_ + "/run";
    // 2.2 MB of journal, 0.6 MB of sync deltas, 0.8 MB of model and of the first snapshot, 2.4 MB
    // of each later one
    config_ = scratch_ + "/run.toml";
    std::ofstream(config_)
        << "[model]\nkind = \"synthetic\"\nsynthetic_params = 200003\nsynthetic_step_ms = 5\n"
           "[round]\nrounds = 100000\nlocal_steps = 2\nchunk_params = 65536\n";
  }
  ~DamageTest() override {
    if (mounted_) umount2(disk_.c_str(), MNT_DETACH);
    std::filesystem::remove_all(scratch_);
  }

  // A disk of so many kB; false where that is not permitted.
  bool Mount(const std::string& kilobytes) {
    const std::string size = "size=" + kilobytes + "k";
    mounted_ = mount("tmpfs", disk_.c_str(), "tmpfs", 0, size.c_str()) == 0;
    return mounted_;
  }
  void Unmount() {
    umount2(disk_.c_str(), MNT_DETACH);
    mounted_ = false;
  }
  // Leaves so many bytes of the disk free, until Empty.
  void Fill(size_t left) {
    std::ofstream file(disk_ + "/filler", std::ios::binary);
    const std::string page(4096, 'x');
    while (std::filesystem::space(disk_).available > left && file)
      file.write(page.data(), 4096).flush();
  }
  void Empty() { std::filesystem::remove(disk_ + "/filler"); }

  Arguments Interlude(Arguments arguments) const {
    arguments.insert(arguments.begin(), INTERLUDE_PROGRAM);
    return arguments;
  }
  Arguments Coordinator(const Arguments& more = {}) const {
    Arguments arguments = {"coordinator", "--workers", "2",        "--config",   config_,
                           "--dir",       directory_,  "--listen", "127.0.0.1:0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Interlude(arguments);
  }
  Arguments Worker(Process& coordinator) const {
    EXPECT_TRUE(coordinator.AwaitOutput(" (on this machine only"));
    const std::string before = "--coordinator ";
    const size_t begin = coordinator.output().find(before) + before.size();
    return Interlude(
        {"worker", "--coordinator",
         coordinator.output().substr(begin, coordinator.output().find(' ', begin) - begin)});
  }
  std::vector<EventRecord> Events() const {
    auto database = RunDatabase::OpenReadOnly(directory_ + "/run.db");
    EXPECT_TRUE(database.ok()) << database.status().ToString();
    return database.ok() ? (*database)->Events().value() : std::vector<EventRecord>();
  }
  bool HasSnapshotAfter(const std::string& name) const {
    for (const auto& file : std::filesystem::directory_iterator(directory_ + "/snapshots")) {
      if (file.path().extension() == ".snapshot" && file.path().stem().string() > name) return true;
    }
    return false;
  }
  // Runs it to its end, which must be this one.
  std::string OutputOf(const Arguments& arguments, int exit_status) const {
    Process process(arguments);
    EXPECT_EQ(process.AwaitExit(), exit_status) << process.output();
    return process.output();
  }
  // A run that was killed after some rounds.
  void LeaveARun() {
    Process coordinator(Coordinator());
    Process one(Worker(coordinator));
    Process two(Worker(coordinator));
    ASSERT_TRUE(coordinator.AwaitOutput("round      6/"));
    coordinator.Signal(SIGKILL);
    coordinator.AwaitExit();
  }
  // The second half of the files of the journal: payloads.
  void DamagePayloads() {
    for (const auto& file : std::filesystem::directory_iterator(directory_ + "/journal")) {
      if (file.path().extension() != ".journal") continue;
      std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      const auto half = static_cast<std::streamoff>(file.file_size() / 2);
      bytes.seekp(half);
      bytes << std::string(static_cast<size_t>(half), 'x');
    }
  }

  std::string scratch_;
  std::string disk_;
  std::string directory_;
  std::string config_;
  bool mounted_ = false;
};

#define MOUNT_OR_SKIP(kilobytes) \
  if (!Mount(kilobytes)) GTEST_SKIP() << "no file system can be mounted: " << strerror(errno)

TEST_F(DamageTest, ADiskThatIsTooSmallEndsTheRunBeforeItBegins) {
  // run.db and its log take some 0.6 MB by then; each size has 0.2 MB to spare both ways.
  const struct {
    const char* kilobytes;
    const char* what;
  } disks[] = {{"2000", "/journal wants"},
               {"2950", "/syncs wants"},
               {"3700", "the first snapshot cannot be written"}};
  for (const auto& disk : disks) {
    MOUNT_OR_SKIP(disk.kilobytes);
    Process coordinator(Coordinator());
    Process one(Worker(coordinator));  // one of them may find the coordinator gone, and wait
    Process two(Worker(coordinator));
    EXPECT_EQ(coordinator.AwaitExit(), kExitFailed) << coordinator.output();
    EXPECT_THAT(coordinator.output(), AllOf(HasSubstr(disk.what), HasSubstr(directory_),
                                            HasSubstr("another"), Not(HasSubstr("round      1/"))));
    Unmount();
  }
}

TEST_F(DamageTest, ARunGoesOnWithoutSnapshotsOnADiskThatFillsUpAndSaysSo) {
  MOUNT_OR_SKIP("16000");
  Process coordinator(Coordinator());
  Process one(Worker(coordinator));
  Process two(Worker(coordinator));
  ASSERT_TRUE(coordinator.AwaitOutput("round      1/"));
  // Too little for a snapshot, and room for run.db to grow until this thread makes more: what is to
  // be recorded while there is none is lost.
  Fill(2'000'000);
  ASSERT_TRUE(coordinator.AwaitNext("no snapshot after round "));
  ASSERT_TRUE(coordinator.AwaitNext("Make room"));
  for (int round = 0; round < 3; ++round) ASSERT_TRUE(coordinator.AwaitNext("  loss "));
  std::string newest;
  for (const auto& file : std::filesystem::directory_iterator(directory_ + "/snapshots"))
    newest = std::max(newest, file.path().stem().string());
  Empty();
  while (!HasSnapshotAfter(newest)) ASSERT_TRUE(coordinator.AwaitNext("  loss "));
  coordinator.Signal(SIGTERM);
  EXPECT_EQ(coordinator.AwaitExit(), kExitInterrupted) << coordinator.output();
  EXPECT_THAT(Events(), testing::Contains(testing::Field(&EventRecord::kind, "snapshot_failed")));
  EXPECT_THAT(OutputOf(Interlude({"journal", "verify", directory_}), kExitOk),
              HasSubstr("every hash as recorded"));
}

TEST_F(DamageTest, ARunEndsWellThoughItsDatabaseCannotBeWrittenForAWhile) {
  // At its end the run takes up to 17 MB: run.db and its log have 6 then, and the model may be
  // written beside a third snapshot.
  MOUNT_OR_SKIP("24000");
  Process coordinator(Coordinator({"--set", "round.rounds=400"}));
  Process one(Worker(coordinator));
  Process two(Worker(coordinator));
  ASSERT_TRUE(coordinator.AwaitOutput("round   1/400"));
  Fill(0);
  ASSERT_TRUE(coordinator.AwaitNext("a part of the ledger could not be written; the run goes on"));
  Empty();
  EXPECT_EQ(coordinator.AwaitExit(), kExitOk) << coordinator.output();
  EXPECT_THAT(
      coordinator.output(),
      AllOf(HasSubstr("agree on"), HasSubstr("run.db is incomplete: a part could not be written")));
  EXPECT_EQ(one.AwaitExit(), kExitOk) << one.output();
  EXPECT_EQ(two.AwaitExit(), kExitOk) << two.output();
  EXPECT_GT(std::filesystem::file_size(directory_ + "/model.safetensors"), 800'000u);
}

TEST_F(DamageTest, AReadOnlyDirectoryIsRefusedAndCanBeVerified) {
  MOUNT_OR_SKIP("16000");
  LeaveARun();
  ASSERT_EQ(mount("tmpfs", disk_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  EXPECT_THAT(OutputOf(Coordinator(), kExitUsage),
              AllOf(HasSubstr(directory_), HasSubstr("Read-only"), HasSubstr("another --dir")));
  EXPECT_THAT(OutputOf(Interlude({"journal", "verify", directory_}), kExitOk),
              HasSubstr("every hash as recorded"));
  directory_ += "-new";
  EXPECT_THAT(OutputOf(Coordinator(), kExitUsage),
              AllOf(HasSubstr(directory_), HasSubstr("Read-only"), HasSubstr("another --dir")));
}

TEST_F(DamageTest, ADamagedJournalIsNamedByVerifyAndByTheRestart) {
  LeaveARun();
  EXPECT_THAT(OutputOf(Interlude({"journal", "verify", directory_}), kExitOk),
              HasSubstr("every hash as recorded"));
  DamagePayloads();
  EXPECT_THAT(OutputOf(Interlude({"journal", "verify", directory_}), kExitFailed),
              AllOf(HasSubstr("round "), HasSubstr("worker "), HasSubstr("not what was received")));
  EXPECT_THAT(OutputOf(Coordinator(), kExitFailed),
              AllOf(HasSubstr(directory_), HasSubstr("not what was received"),
                    HasSubstr("start anew with another --dir")));
  EXPECT_THAT(OutputOf(Interlude({"journal", "verify", scratch_ + "/none"}), kExitFailed),
              HasSubstr("has no snapshot"));
}

TEST_F(DamageTest, FewFileDescriptorsAreEnoughOrNamed) {
  for (const char* limit : {"64", "12"}) {
    const std::string script = std::string("ulimit -n ") + limit + "; exec \"$0\" \"$@\"";
    Arguments arguments = Interlude({"run", "--workers", "2", "--config", config_, "--dir",
                                     directory_, "--set", "round.rounds=3"});
    arguments.insert(arguments.begin(), {"/bin/bash", "-c", script});
    Process run(arguments);
    const int status = run.AwaitExit();
    if (status == kExitOk) {
      EXPECT_THAT(run.output(), HasSubstr("agree on")) << limit;
    } else {
      EXPECT_EQ(status, kExitFailed) << limit << ": " << run.output();
      EXPECT_THAT(run.output(), HasSubstr("Too many open files (raise ulimit -n)")) << limit;
    }
    EXPECT_TRUE(run.AllGone());
    std::filesystem::remove_all(directory_);
  }
}

}  // namespace
}  // namespace interlude
