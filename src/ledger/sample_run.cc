#include "ledger/sample_run.h"

#include <array>

#include "ledger/sample_account.h"
#include "ledger/sample_timeline.h"

namespace interlude {
namespace {

using namespace internal;  // the parts of the sample run

constexpr uint64_t kSamples = 1280;  // a worker and round: 20 steps of 64

std::string Hash(uint32_t round) { return fmt::format("{:032x}", 0x5EEDu * round); }
double Loss(uint32_t round, int32_t worker) {
  return 2.1 / (1.0 + 0.7 * (round - 1)) + 0.01 * worker;
}

RoundRecord MakeRound(uint32_t number) {
  constexpr uint32_t kLast = kSampleChunks - 1;
  RoundRecord round;
  round.round = number;
  round.begin_ns = RoundBegin(number);
  round.end_ns = round.begin_ns + WallNs(number);
  round.first_delta_ns = ReceiveOf(number, 0, 0).begin_ns;
  round.last_delta_ns = ReceiveOf(number, 2, kLast).end_ns;
  round.first_sync_ns = MergeOf(number, 0).end_ns;
  round.committed_ns = MergeOf(number, kLast).end_ns + kMs;
  round.root_hash = Hash(number);
  round.workers = kSampleWorkers;
  round.samples = kSamples * kSampleWorkers;
  round.mean_loss = Loss(number, 1);
  return round;
}

Status AddWorkers(RunDatabase& database) {
  for (int32_t worker = 0; worker < kSampleWorkers; ++worker) {
    WorkerRecord record;
    record.worker = worker;
    record.host = worker == 0 ? "gpu-a" : "gpu-b";
    record.process_id = 4100 + worker;
    record.visible_cores = 8;
    record.quota_cores = worker == 2 ? 1.5 : 0;
    record.usable_cores = worker == 2 ? 2 : 8;
    record.threads = record.usable_cores;
    record.software = "interlude 0.1.0";
    record.joined_ns = kSampleStart - (900 - 100 * worker) * kMs;
    INTERLUDE_RETURN_IF_ERROR(database.AddWorker(record));
    INTERLUDE_RETURN_IF_ERROR(
        database.AddEvent({record.joined_ns,
                           {},
                           worker,
                           "worker_joined",
                           fmt::format("worker {} joined from {}", worker, record.host)}));
  }
  return OkStatus();
}

Status AddRoundTo(RunDatabase& database, const RoundRecord& round) {
  std::vector<WorkerRoundRecord> parts;
  for (int32_t worker = 0; worker < kSampleWorkers; ++worker) {
    const bool repaired = round.round == 3 && worker == 1;
    const bool scaled = round.round == 1 && worker == 2;
    parts.push_back({round.round, worker, kSamples, Loss(round.round, worker), round.root_hash,
                     repaired ? 1u : 0u, kPayloadBytes, kPayloadBytes, scaled ? 1u : 0u});
  }
  return database.AddRound(round, parts, RoundAccount(round.round));
}

/// As they stand when a round ends: from the smallest round trip so far, without a drift.
Status AddLiveClocks(RunDatabase& database, const RoundRecord& round) {
  for (int32_t worker = 0; worker < kSampleWorkers; ++worker) {
    const ClockEstimate real = SampleClock(worker);
    ClockEstimate live{.worker = worker, .method = ClockMethod::kMinimum};
    live.at_ns = OnWorkersClock(worker, round.end_ns);
    live.offset_ns = round.end_ns - live.at_ns + 90'000 * worker;  // that much off
    live.error_ns = real.error_ns + 15'000;
    live.probes = static_cast<uint32_t>((round.end_ns - kSampleStart) / (1000 * kMs));
    INTERLUDE_RETURN_IF_ERROR(database.AddClock(round.round, live));
  }
  return OkStatus();
}

Status AddEnd(RunDatabase& database) {
  INTERLUDE_RETURN_IF_ERROR(database.AddAccount(LastAccount()));
  INTERLUDE_RETURN_IF_ERROR(database.AddEvaluation({kSampleRounds, 10'000, 8123, 0.52}));
  for (int32_t worker = 0; worker < kSampleWorkers; ++worker)
    INTERLUDE_RETURN_IF_ERROR(database.AddClock(std::nullopt, SampleClock(worker)));
  const int64_t left = RoundBegin(kSampleRounds + 1) + kEvaluateNs + 12 * kMs;
  INTERLUDE_RETURN_IF_ERROR(database.WorkerLeft(1, left, "connection lost"));
  return database.AddEvent({left, {}, 1, "worker_left", "worker 1 left: connection lost"});
}

}  // namespace

ClockEstimate SampleClock(int32_t worker) {
  constexpr std::array<double, 3> kDrift = {18e-6, -7e-6, 31e-6};
  // Half of the quickest probes' round trip, and what worker 2's fewer usable probes leave open.
  constexpr std::array<int64_t, 3> kErrorNs = {2'000'000, 2'000'000, 2'450'000};
  ClockEstimate clock{.worker = worker, .method = ClockMethod::kEnvelope};
  clock.at_ns = (worker + 1) * 77'000 * kMs;
  clock.offset_ns = kSampleStart - clock.at_ns;
  clock.drift = kDrift[worker];
  clock.error_ns = kErrorNs[worker];
  clock.probes = worker == 2 ? 8 : 17;
  return clock;
}

Status WriteSampleRun(RunDatabase& database) {
  for (const auto& [key, value] :
       {std::pair{kMetaTitle, "vit 250,000 parameters on fashion_mnist"},
        std::pair{kMetaSoftware, "interlude 0.1.0"},
        std::pair{kMetaStartedAt, "2025-01-31T12:00:00Z"}, std::pair{kMetaParameters, "250000"},
        std::pair{kMetaExchange, "pipelined"}, std::pair{kMetaCodec, "q4"},
        std::pair{kMetaOutcome, "finished"}}) {
    INTERLUDE_RETURN_IF_ERROR(database.SetMeta(key, value));
  }
  INTERLUDE_RETURN_IF_ERROR(AddWorkers(database));
  INTERLUDE_RETURN_IF_ERROR(database.AddAccount(PreparationAccount()));
  for (uint32_t number = 1; number <= kSampleRounds; ++number) {
    const RoundRecord round = MakeRound(number);
    INTERLUDE_RETURN_IF_ERROR(AddRoundTo(database, round));
    INTERLUDE_RETURN_IF_ERROR(AddLiveClocks(database, round));
    if (number == 3) {
      INTERLUDE_RETURN_IF_ERROR(
          database.AddEvent({round.end_ns - 3 * kMs, 3u, 1, "chunk_repaired",
                             "worker 1: chunk 3 had another hash and was sent again"}));
      INTERLUDE_RETURN_IF_ERROR(database.AddEvaluation({3, 10'000, 7412, 0.71}));
    }
  }
  return AddEnd(database);
}

}  // namespace interlude
