// A bar of the project: what a worker's account of a round takes in the file.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "ledger/run_database.h"

namespace interlude {
namespace {

constexpr int32_t kWorkers = 8;
constexpr uint32_t kRounds = 60;
constexpr uint32_t kChunks = 316;                     // 331 million parameters in chunks of 2^20
constexpr int64_t kSeconds = 48;                      // of a round, and samples in it
constexpr int64_t kUptimeNs = 4'000'000'000'000'000;  // CLOCK_MONOTONIC of a machine up for weeks

constexpr int kOwners = 20;                    // of memory, that have changed
constexpr int64_t kChunkOnLinkNs = 4'600'000;  // 557 KB at 1 Gbit/s

/// Figures of the size that they have in a round of 48 s.
class Account48 {
 public:
  Account48(uint32_t round, int32_t worker)
      : round_(round), worker_(worker), begin_ns_(kUptimeNs + round * kSeconds * 1'000'000'000) {}

  Account Make() {
    for (const Phase phase : {Phase::kEncode, Phase::kApply})
      AddStamps(phase, 4, 1'000'000, 4'000'000);
    for (const Phase phase : {Phase::kUpload, Phase::kDownload, Phase::kReceive, Phase::kSend})
      AddStamps(phase, 1, 200'000, kChunkOnLinkNs);
    for (const Phase phase :
         {Phase::kAwaitRound, Phase::kTrain, Phase::kLoad, Phase::kEncode, Phase::kUpload,
          Phase::kDownload, Phase::kApply, Phase::kVerify, Phase::kEvaluate, Phase::kStart,
          Phase::kReceive, Phase::kSend, Phase::kReport, Phase::kCall, Phase::kCall, Phase::kAsk})
      AddSpan(phase);
    for (int64_t second = 0; second < kSeconds; ++second) {
      AddSample(second);
      AddProbe(second);
    }
    for (int owner = 0; owner < kOwners; ++owner) AddMemory(owner);
    return std::move(account_);
  }
  /// The coordinator's own, which all workers share. A decision takes some microseconds.
  Account MakeShared() {
    for (const Phase phase : {Phase::kMerge, Phase::kDecide, Phase::kLedger}) AddSpan(phase);
    AddStamps(Phase::kMerge, 4, 1'000'000, 4'000'000);
    AddStamps(Phase::kDecide, 1, 2'000'000, 50'000);
    AddStamps(Phase::kDecide, 1, 2'000'000, 50'000);
    return std::move(account_);
  }

 private:
  /// Around `value`, by half of it at most.
  int64_t About(int64_t value) { return value / 2 + static_cast<int64_t>(rng_() % value); }
  int32_t By(Phase phase) const { return IsWorkerPhase(phase) ? worker_ : kNoWorker; }
  int32_t Of(Phase phase) const { return IsWorkerPhase(phase) ? kNoWorker : worker_; }

  /// `streams` chunks at a time: a stream takes the next `pause_ns` after it is done with its last.
  void AddStamps(Phase phase, size_t streams, int64_t pause_ns, int64_t length_ns) {
    std::vector<int64_t> free_ns(streams, begin_ns_ + 40'000'000'000);
    ChunkStamps stamps{phase, round_, By(phase), Of(phase), {}};
    for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
      int64_t& now = *std::min_element(free_ns.begin(), free_ns.end());
      const int64_t begin = now + About(pause_ns);
      now = begin + About(length_ns);
      stamps.stamps.push_back({chunk, begin, now});
    }
    account_.stamps.push_back(std::move(stamps));  // EncodeStamps puts them in order
  }

  void AddSpan(Phase phase) {
    const int64_t begin = begin_ns_ + About(40'000'000'000);
    account_.spans.push_back({phase, round_, By(phase), Of(phase), begin,
                              begin + About(2'000'000'000), About(1'000'000'000),
                              About(4'000'000'000), About(100'000'000), 176'000'000, kChunks, true,
                              About(500'000'000)});
  }

  /// A worker of four cores that trains, in a cgroup of version 1 with a quota.
  void AddSample(int64_t second) {
    ProcessSample sample;
    sample.recorded_by = worker_;
    sample.at_ns = begin_ns_ + second * 1'000'000'000 + About(1'000'000);
    sample.interval_ns = About(1'000'000'000);
    sample.cpu_ns = About(3'900'000'000);
    sample.run_delay_ns = About(200'000'000);
    sample.threads = About(20);
    sample.major_faults = 0;
    sample.minor_faults = About(3000);
    sample.rss_bytes = About(6'000'000'000);
    sample.anonymous_bytes = About(5'500'000'000);
    sample.peak_rss_bytes = 7'000'000'000;
    sample.disk_read_bytes = 0;
    sample.disk_write_bytes = About(4096);
    sample.throttled_ns = About(300'000'000);
    sample.throttled_periods = About(8);
    sample.machine_busy_ns = About(7'000'000'000);
    sample.steal_ns = 0;
    sample.cpu_some_ns = About(100'000'000);
    sample.memory_some_ns = 0;
    sample.io_some_ns = About(1'000'000);
    sample.disk_busy_ns = About(1'000'000);
    sample.net_sent_bytes = About(10'000);
    sample.net_received_bytes = About(10'000);
    sample.tcp_sent_bytes = About(1000);
    sample.tcp_retransmitted_bytes = 0;
    sample.tcp_busy_ns = About(10'000'000);
    sample.tcp_receiver_limited_ns = 0;
    sample.tcp_sender_limited_ns = 0;
    sample.tcp_round_trip_ns = About(20'000'000);
    account_.samples.push_back(sample);
  }

  /// On a link of 20 ms there and back, to a machine that started a day later.
  void AddProbe(int64_t second) {
    const int64_t sent = begin_ns_ + second * 1'000'000'000 + About(100'000);
    const int64_t received = sent - 86'400'000'000'000 + About(10'000'000);
    account_.probes.push_back({worker_, sent, received, received + About(40'000),
                               sent + 15'000'000 + About(5'000'000), About(50'000)});
  }

  void AddMemory(int owner) {
    constexpr std::array kNames = {"allocator, in use", "program and libraries", "the rest", "base",
                                   "chunk payloads"};
    account_.memory.push_back({worker_, account_.samples.at(owner).at_ns,
                               kNames[owner % kNames.size()], About(800'000'000)});
  }

  const uint32_t round_;
  const int32_t worker_;
  const int64_t begin_ns_;
  Rng rng_{round_ * 1000 + static_cast<uint64_t>(worker_)};
  Account account_;
};

int64_t FileBytes(const std::string& path) {
  SQLite::Database database(path);
  return database.execAndGet("PRAGMA page_count").getInt64() *
         database.execAndGet("PRAGMA page_size").getInt64();
}

TEST(RunDatabaseSize, AWorkersAccountOfARoundTakesAtMost16KiB) {
  const std::string path = ::testing::TempDir() + fmt::format("/size_{}.db", ::getpid());
  const auto write = [&](uint32_t rounds) {
    ::unlink(path.c_str());
    auto database = *RunDatabase::Create(path);
    for (uint32_t round = 1; round <= rounds; ++round) {
      Account account;
      for (int32_t worker = 0; worker < kWorkers; ++worker)
        account.Append(Account48(round, worker).Make());
      account.Append(Account48(round, kNoWorker).MakeShared());
      ASSERT_TRUE(database->AddRound({.round = round}, {}, account).ok());
      for (int32_t worker = 0; worker < kWorkers; ++worker) {
        const ClockEstimate clock{
            worker, ClockMethod::kMinimum, kUptimeNs, -86'400'000'000'000, 1.25e-5, 10'000'000, 50};
        ASSERT_TRUE(database->AddClock(round, clock).ok());
      }
    }
  };
  write(0);
  const int64_t empty = FileBytes(path);
  write(kRounds);
  const int64_t bytes = (FileBytes(path) - empty) / (kWorkers * kRounds);
  ::unlink(path.c_str());
  EXPECT_LE(bytes, 16 * 1024);
  EXPECT_GT(bytes, 12 * 1024);  // it is what it says it is
  RecordProperty("bytes", static_cast<int>(bytes));
}

}  // namespace
}  // namespace interlude
