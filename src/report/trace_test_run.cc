#include "report/trace_test_run.h"

#include "base/check.h"

namespace interlude {
namespace {

constexpr int64_t kWorkerBegin[2] = {50'000 * kTraceMs, 777'000 * kTraceMs};  // own clocks
constexpr int64_t kReportMs[3] = {9, 5, 7};  // way of worker 1's reports, by round

void Check(const Status& status) { INTERLUDE_CHECK(status.ok(), "{}", status.ToString()); }

/// A span and its chunks, each `step_ms` after the one before and `length_ms` long.
void AddPhase(Account& account, Phase phase, uint32_t round, int32_t by, int32_t about,
              int64_t begin_ns, int64_t step_ms, int64_t length_ms) {
  ChunkStamps stamps{phase, round, by, about, {}};
  for (uint32_t chunk = 0; chunk < kTraceChunks; ++chunk) {
    const int64_t chunk_ns = begin_ns + chunk * step_ms * kTraceMs;
    stamps.stamps.push_back({chunk, chunk_ns, chunk_ns + length_ms * kTraceMs});
  }
  const int64_t end_ns = stamps.stamps.back().end_ns;
  account.spans.push_back({phase, round, by, about, begin_ns, end_ns, end_ns - begin_ns,
                           kTraceMs / 2, kTraceMs / 10, 1000, kTraceChunks});
  account.stamps.push_back(std::move(stamps));
}

void AddWorkerPart(Account& account, uint32_t round, int32_t worker) {
  const int64_t begin = kWorkerBegin[worker] + (round - 1) * kTraceRoundNs;
  const int64_t trained = begin + 2'000 * kTraceMs;
  account.spans.push_back({Phase::kTrain, round, worker, kNoWorker, begin, trained, 1, 1});
  // Two threads encode: chunks overlap.
  AddPhase(account, Phase::kEncode, round, worker, kNoWorker, trained, 10, 19);
  AddPhase(account, Phase::kUpload, round, worker, kNoWorker, trained + 20 * kTraceMs, 20, 10);
  AddPhase(account, Phase::kDownload, round, worker, kNoWorker, trained + 200 * kTraceMs, 20, 10);
  AddPhase(account, Phase::kApply, round, worker, kNoWorker, trained + 215 * kTraceMs, 20, 10);
  const int64_t applied = trained + 300 * kTraceMs;
  account.spans.push_back(
      {Phase::kVerify, round, worker, kNoWorker, applied, applied + 20 * kTraceMs, 1, 1});
  for (int second = 0; second < 3; ++second) {
    ProcessSample sample;
    sample.recorded_by = worker;
    sample.at_ns = begin + (second + 1) * 900 * kTraceMs;
    sample.interval_ns = 900 * kTraceMs;
    sample.cpu_ns = 1'350 * kTraceMs;
    sample.rss_bytes = (100 + round) << 20;
    sample.net_sent_bytes = 1'800'000;
    account.samples.push_back(sample);
  }
  account.memory.push_back({worker, begin, "parameters", 1 << 20});
}

void AddCoordinatorPart(Account& account, const RoundRecord& round) {
  const int64_t arrived = round.begin_ns + 2'050 * kTraceMs;
  for (int32_t worker = 0; worker < 2; ++worker) {
    AddPhase(account, Phase::kReceive, round.round, kNoWorker, worker, arrived, 20, 10);
    AddPhase(account, Phase::kSend, round.round, kNoWorker, worker, arrived + 100 * kTraceMs, 20,
             10);
    const int64_t reported = round.begin_ns + (2'320 + kReportMs[round.round - 1]) * kTraceMs;
    account.spans.push_back(
        {Phase::kReport, round.round, kNoWorker, worker, reported, reported, 0, 0});
  }
  AddPhase(account, Phase::kMerge, round.round, kNoWorker, kNoWorker, arrived + 40 * kTraceMs, 20,
           10);
  account.spans.push_back({Phase::kRound, round.round, kNoWorker, kNoWorker, round.begin_ns,
                           round.end_ns, kTraceRoundNs, 1});
}

}  // namespace

ClockEstimate TraceTestClock() {
  ClockEstimate clock;
  clock.worker = 0;
  clock.method = ClockMethod::kEnvelope;
  clock.at_ns = kWorkerBegin[0];
  clock.offset_ns = kTraceBegin - kWorkerBegin[0];
  clock.drift = -400e-6;
  clock.error_ns = 70'000;
  clock.probes = 9;
  return clock;
}

std::unique_ptr<RunDatabase> MakeTraceTestRun() {
  auto database = *RunDatabase::Create(":memory:");
  Check(database->SetMeta(kMetaStartedAt, "2025-01-31T12:00:00Z"));
  for (int32_t worker = 0; worker < 2; ++worker) {
    WorkerRecord record;
    record.worker = worker;
    record.host = "gpu-a";
    record.process_id = 4100 + worker;
    record.joined_ns = kTraceBegin - 100 * kTraceMs;
    Check(database->AddWorker(record));
  }
  for (uint32_t number = 1; number <= kTraceRounds; ++number) {
    RoundRecord round;
    round.round = number;
    round.begin_ns = kTraceBegin + (number - 1) * kTraceRoundNs;
    round.end_ns = round.begin_ns + kTraceRoundNs;
    round.first_delta_ns = round.begin_ns + 2'050 * kTraceMs;
    round.last_delta_ns = round.begin_ns + 2'120 * kTraceMs;
    round.first_sync_ns = round.begin_ns + 2'100 * kTraceMs;  // before the last delta chunk
    round.committed_ns = round.begin_ns + 2'160 * kTraceMs;
    round.mean_loss = 1.0 / number;
    Account account;
    for (int32_t worker = 0; worker < 2; ++worker) AddWorkerPart(account, number, worker);
    AddCoordinatorPart(account, round);
    Check(database->AddRound(round, {}, account));
  }
  Check(database->AddClock(2u, {0, ClockMethod::kMinimum, kWorkerBegin[0],
                                kTraceBegin - kWorkerBegin[0], 0, 9 * kTraceMs, 1}));
  Check(database->AddClock(std::nullopt, TraceTestClock()));
  Check(database->AddClock(std::nullopt, {1, ClockMethod::kNone}));
  Check(database->AddEvent({kTraceBegin + kTraceMs, 1u, 1, "late", "worker 1 was late"}));
  Check(database->AddEvaluation({2, 100, 75, 0.5}));
  return database;
}

}  // namespace interlude
