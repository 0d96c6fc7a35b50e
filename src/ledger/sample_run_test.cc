// The sample run is consistent in itself, so that what is computed from it can be checked by hand.
#include "ledger/sample_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace interlude {
namespace {

std::unique_ptr<RunDatabase> SampleRun() {
  auto database = *RunDatabase::Create(":memory:");
  EXPECT_TRUE(WriteSampleRun(*database).ok());
  return database;
}

/// On the coordinator's clock.
int64_t Corrected(int32_t process, int64_t time_ns) {
  if (process == kNoWorker) return time_ns;
  const ClockEstimate clock = SampleClock(process);
  return time_ns + clock.offset_ns +
         static_cast<int64_t>(clock.drift * static_cast<double>(time_ns - clock.at_ns));
}

TEST(SampleRun, AWorkersRoundsLieInTheCoordinatorsWhenItsClockIsCorrected) {
  const auto database = SampleRun();
  const auto rounds = *database->Rounds();
  size_t checked = 0;
  for (const Span& span : *database->Spans()) {
    if (span.round == kBeforeRounds || span.round > rounds.size()) continue;
    if (span.phase == Phase::kAwaitRound) continue;  // begins in the round before
    ++checked;
    const RoundRecord& round = rounds[span.round - 1];
    EXPECT_GE(Corrected(span.recorded_by, span.begin_ns), round.begin_ns);
    EXPECT_LE(Corrected(span.recorded_by, span.end_ns), round.end_ns);
    EXPECT_LE(span.begin_ns, span.end_ns);
    EXPECT_LE(
        span.cpu_ns + span.run_delay_ns + span.blocked_ns,
        span.end_ns - span.begin_ns + (span.recorded_by == kNoWorker ? span.busy_ns / 50 : 0));
  }
  EXPECT_EQ(checked, kSampleRounds * 38u + kSampleWorkers);
}

TEST(SampleRun, EachRoundEndsWithItsLastReport) {
  const auto database = SampleRun();
  std::map<uint32_t, int64_t> last;
  for (const Span& span : *database->Spans())
    if (span.phase == Phase::kReport) last[span.round] = std::max(last[span.round], span.end_ns);
  for (const RoundRecord& round : *database->Rounds()) EXPECT_EQ(last[round.round], round.end_ns);
}

TEST(SampleRun, NoChunkComesBeforeItWasSent) {
  const auto database = SampleRun();
  using Key = std::tuple<uint32_t, Phase, int32_t, uint32_t>;  // round, phase, worker, chunk
  std::map<Key, ChunkStamp> times;
  for (const ChunkStamps& stamps : *database->Stamps()) {
    const bool own = IsWorkerPhase(stamps.phase);
    for (const ChunkStamp& stamp : stamps.stamps) {
      times[{stamps.round, stamps.phase, own ? stamps.recorded_by : stamps.about_worker,
             stamp.chunk}] = {stamp.chunk, Corrected(stamps.recorded_by, stamp.begin_ns),
                              Corrected(stamps.recorded_by, stamp.end_ns)};
    }
  }
  constexpr int64_t kMicrosecond = 1000;  // in which stamps are kept, on each side
  size_t chunks = 0;
  for (uint32_t round = 1; round <= kSampleRounds; ++round) {
    for (int32_t worker = 0; worker < kSampleWorkers; ++worker) {
      for (uint32_t chunk = 0; chunk < 4; ++chunk, ++chunks) {
        const auto at = [&](Phase phase, int32_t about) {
          return times.at({round, phase, about, chunk});
        };
        const ChunkStamp merged = at(Phase::kMerge, kNoWorker);
        EXPECT_LE(at(Phase::kEncode, worker).end_ns,
                  at(Phase::kUpload, worker).begin_ns + kMicrosecond);
        EXPECT_LT(at(Phase::kUpload, worker).begin_ns, at(Phase::kReceive, worker).begin_ns);
        EXPECT_LT(at(Phase::kUpload, worker).end_ns, at(Phase::kReceive, worker).end_ns);
        EXPECT_LE(at(Phase::kReceive, worker).end_ns, merged.begin_ns);
        EXPECT_LE(merged.end_ns, at(Phase::kSend, worker).begin_ns);
        EXPECT_LT(at(Phase::kSend, worker).begin_ns, at(Phase::kDownload, worker).begin_ns);
        EXPECT_LT(at(Phase::kSend, worker).end_ns, at(Phase::kDownload, worker).end_ns);
        EXPECT_LE(at(Phase::kDownload, worker).end_ns,
                  at(Phase::kApply, worker).begin_ns + kMicrosecond);
      }
    }
  }
  EXPECT_EQ(chunks, size_t{kSampleRounds} * kSampleWorkers * 4);
}

TEST(SampleRun, OnlyTheWorkerWithAQuotaIsThrottled) {
  const auto database = SampleRun();
  for (const ProcessSample& sample : *database->Samples())
    EXPECT_EQ(sample.throttled_ns > 0, sample.recorded_by == 2) << sample.recorded_by;
}

TEST(SampleRun, EachClockProbeFitsTheClocksWithinTheirBounds) {
  const auto database = SampleRun();
  for (const ClockProbe& probe : *database->Probes()) {
    EXPECT_LT(Corrected(probe.worker, probe.sent_ns), probe.received_ns);
    EXPECT_LT(probe.replied_ns, Corrected(probe.worker, probe.returned_ns));
  }
  for (const auto& [round, estimate] : *database->Clocks()) {
    const int64_t estimated = estimate.at_ns + estimate.offset_ns;
    EXPECT_LE(std::abs(estimated - Corrected(estimate.worker, estimate.at_ns)), estimate.error_ns);
  }
}

}  // namespace
}  // namespace interlude
