#include "ledger/sample_run.h"

#include <algorithm>
#include <array>

namespace interlude {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStart = 5'000'000 * kMs;  // coordinator's clock
constexpr uint64_t kBaseBytes = 1'000'000;
constexpr uint64_t kPayloadBytes = 132'813;  // 250,000 parameters at 4.25 bits
constexpr uint64_t kSamples = 1280;          // a worker and round: 20 steps of 64
constexpr int64_t kEvaluateMs = 310;
constexpr std::array<int64_t, 3> kTrainMs = {2104, 2131, 2598};
constexpr std::array<int64_t, 6> kWarmUpMs = {420, 14, 0, 9, 21, 5};

constexpr bool EvaluatesIn(uint32_t round) { return round == 4; }
int64_t TrainNs(uint32_t round, int32_t worker) {
  return (kTrainMs[worker] + kWarmUpMs[round - 1]) * kMs;
}
int64_t ComputeNs(uint32_t round, int32_t worker) {
  return TrainNs(round, worker) + (EvaluatesIn(round) ? kEvaluateMs * kMs : 0);
}
/// Slowest worker's computing plus a tail of exchange.
int64_t WallNs(uint32_t round) { return ComputeNs(round, 2) + 64 * kMs; }

std::string Hash(uint32_t round) { return fmt::format("{:032x}", 0x5EEDu * round); }
double Loss(uint32_t round, int32_t worker) {
  return 2.1 / (1.0 + 0.7 * (round - 1)) + 0.01 * worker;
}

/// Times on a worker's own clock, whose zero has nothing to do with the coordinator's.
class WorkerSpans {
 public:
  WorkerSpans(uint32_t round, int32_t worker, int64_t now, std::vector<Span>& out)
      : round_(round), worker_(worker), now_(now), out_(out) {}

  /// A phase that begins `after_ms` after the one before it ended (negative: they overlap).
  void Add(Phase phase, int64_t after_ms, int64_t length_ns, int64_t busy_ns, uint64_t bytes = 0,
           uint32_t chunks = 0) {
    const int64_t begin = now_ + after_ms * kMs;
    // Worker 2 has to wait for a core during a fifth of its own work.
    const bool starved = worker_ == 2 && phase != Phase::kWait;
    const int64_t delay = starved ? busy_ns / 5 : busy_ns / 1000;
    const int64_t cpu = phase == Phase::kWait ? 30'000 : busy_ns - delay;
    out_.push_back({phase, round_, worker_, kNoWorker, begin, begin + length_ns, busy_ns, cpu,
                    delay, bytes, chunks});
    now_ = begin + length_ns;
  }

 private:
  const uint32_t round_;
  const int32_t worker_;
  int64_t now_;
  std::vector<Span>& out_;
};

void AddWorkerSpans(uint32_t round, int32_t worker, std::vector<Span>& out) {
  WorkerSpans spans(round, worker, (worker + 1) * 77'000 * kMs + round * 3'000 * kMs, out);
  const int64_t late = ComputeNs(round, 2) - ComputeNs(round, worker);
  const int64_t slow = worker == 2 ? 3 : 1;
  if (EvaluatesIn(round)) spans.Add(Phase::kEvaluate, 0, kEvaluateMs * kMs, kEvaluateMs * kMs);
  spans.Add(Phase::kTrain, 0, TrainNs(round, worker), TrainNs(round, worker));
  spans.Add(Phase::kEncode, 0, 6 * slow * kMs, 4 * slow * kMs, kPayloadBytes, 4);
  spans.Add(Phase::kUpload, -5 * slow, 6 * slow * kMs, 2 * slow * kMs, kPayloadBytes, 4);
  spans.Add(Phase::kWait, 0, late + 11 * kMs, late + 11 * kMs);
  spans.Add(Phase::kDownload, 0, 14 * kMs, 3 * kMs, kPayloadBytes, 4);
  spans.Add(Phase::kApply, -12, 12 * kMs + slow * kMs, 2 * slow * kMs, 1'000'000, 4);
  spans.Add(Phase::kVerify, -8, 9 * kMs, slow * kMs / 2, 1'000'000, 4);
}

void AddCoordinatorSpans(const RoundRecord& round, std::vector<Span>& out) {
  const auto add = [&](Phase phase, int32_t about, int64_t begin, int64_t end, int64_t busy,
                       uint64_t bytes) {
    out.push_back(
        {phase, round.round, kNoWorker, about, begin, end, busy, busy, busy / 50, bytes, 4});
  };
  for (int32_t worker = 0; worker < kSampleWorkers; ++worker) {
    const int64_t first = round.begin_ns + ComputeNs(round.round, worker) + 3 * kMs;
    add(Phase::kReceive, worker, first, first + 9 * kMs, 1 * kMs, kPayloadBytes);
    add(Phase::kJournal, worker, first, first + 10 * kMs, 700'000, kPayloadBytes);
  }
  const int64_t last = round.last_delta_ns;
  add(Phase::kMerge, kNoWorker, last - 5 * kMs, round.committed_ns, 4'800'000, 4 * kPayloadBytes);
  for (int32_t worker = 0; worker < kSampleWorkers; ++worker) {
    add(Phase::kSend, worker, round.first_sync_ns, round.committed_ns + (worker + 4) * kMs, 1 * kMs,
        kPayloadBytes);
  }
  add(Phase::kRound, kNoWorker, round.begin_ns, round.end_ns, round.end_ns - round.begin_ns, 0);
}

RoundRecord MakeRound(uint32_t number, int64_t begin) {
  const int64_t slowest = begin + ComputeNs(number, 2);
  RoundRecord round;
  round.round = number;
  round.begin_ns = begin;
  round.end_ns = begin + WallNs(number);
  round.first_delta_ns = begin + ComputeNs(number, 0) + 3 * kMs;
  round.last_delta_ns = slowest + 21 * kMs;
  round.first_sync_ns = slowest + 18 * kMs;
  round.committed_ns = slowest + 25 * kMs;
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
    record.joined_ns = kStart - (900 - 100 * worker) * kMs;
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

/// Every worker makes its model; worker 0 gives the first base, the coordinator takes it.
Status AddPreparation(RunDatabase& database) {
  std::vector<Span> spans;
  for (int32_t worker = 0; worker < kSampleWorkers; ++worker) {
    WorkerSpans own(kBeforeRounds, worker, (worker + 1) * 77'000 * kMs, spans);
    own.Add(Phase::kPrepare, 0, (400 + 30 * worker) * kMs, (400 + 30 * worker) * kMs);
    if (worker == 0) own.Add(Phase::kShareBase, 5, 8 * kMs, 3 * kMs, kBaseBytes, 4);
  }
  spans.push_back({Phase::kReceive, kBeforeRounds, kNoWorker, 0, kStart - 12 * kMs,
                   kStart - 5 * kMs, 2 * kMs, 2 * kMs, 0, kBaseBytes, 4});
  return database.AddAccount({.spans = spans});
}

Status AddRoundTo(RunDatabase& database, const RoundRecord& round) {
  std::vector<WorkerRoundRecord> parts;
  std::vector<Span> spans;
  for (int32_t worker = 0; worker < kSampleWorkers; ++worker) {
    const bool repaired = round.round == 3 && worker == 1;
    parts.push_back({round.round, worker, kSamples, Loss(round.round, worker), round.root_hash,
                     repaired ? 1u : 0u, kPayloadBytes, kPayloadBytes});
    AddWorkerSpans(round.round, worker, spans);
  }
  AddCoordinatorSpans(round, spans);
  return database.AddRound(round, parts, {.spans = spans});
}

}  // namespace

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
  INTERLUDE_RETURN_IF_ERROR(AddPreparation(database));
  int64_t begin = kStart;
  for (uint32_t number = 1; number <= kSampleRounds; ++number) {
    const RoundRecord round = MakeRound(number, begin);
    INTERLUDE_RETURN_IF_ERROR(AddRoundTo(database, round));
    begin = round.end_ns;
    if (number == 3) {
      INTERLUDE_RETURN_IF_ERROR(
          database.AddEvent({round.end_ns - 3 * kMs, 3u, 1, "chunk_repaired",
                             "worker 1: chunk 3 had another hash and was sent again"}));
      INTERLUDE_RETURN_IF_ERROR(database.AddEvaluation({3, 10'000, 7412, 0.71}));
    }
  }
  std::vector<Span> last;
  for (int32_t worker = 0; worker < kSampleWorkers; ++worker) {
    WorkerSpans(kSampleRounds + 1, worker,
                (worker + 1) * 77'000 * kMs + (kSampleRounds + 1) * 3'000 * kMs, last)
        .Add(Phase::kEvaluate, 0, kEvaluateMs * kMs, kEvaluateMs * kMs);
  }
  INTERLUDE_RETURN_IF_ERROR(database.AddAccount({.spans = last}));
  INTERLUDE_RETURN_IF_ERROR(database.AddEvaluation({kSampleRounds, 10'000, 8123, 0.52}));
  const int64_t left = begin + (kEvaluateMs + 12) * kMs;
  INTERLUDE_RETURN_IF_ERROR(database.WorkerLeft(1, left, "connection lost"));
  return database.AddEvent({left, {}, 1, "worker_left", "worker 1 left: connection lost"});
}

}  // namespace interlude
