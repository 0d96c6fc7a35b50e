#include "ledger/sample_account.h"

#include <algorithm>

#include "ledger/sample_timeline.h"

namespace interlude::internal {
namespace {

using ChunkTimes = Interval (*)(uint32_t round, int32_t worker, uint32_t chunk);

/// What one worker records in one round, which is told in the coordinator's time.
class WorkerSide {
 public:
  WorkerSide(uint32_t round, int32_t worker, Account& out)
      : round_(round), worker_(worker), out_(out) {}

  void AddSpan(Phase phase, Interval times, int64_t busy_ns, uint64_t bytes = 0,
               uint32_t chunks = 0) {
    Span span{phase, round_, worker_};
    span.begin_ns = OnWorkersClock(worker_, times.begin_ns);
    span.end_ns = OnWorkersClock(worker_, times.end_ns);
    const bool idle = phase == Phase::kWait || phase == Phase::kAwaitRound;
    span.busy_ns = std::min(busy_ns, span.end_ns - span.begin_ns);
    // Worker 2 has to wait for a core during a fifth of its own work.
    span.run_delay_ns = worker_ == 2 && !idle ? span.busy_ns / 5 : span.busy_ns / 1000;
    span.cpu_ns = idle ? std::min<int64_t>(30'000, span.busy_ns) : span.busy_ns - span.run_delay_ns;
    span.blocked_ns = (span.end_ns - span.begin_ns) - span.cpu_ns - span.run_delay_ns;
    span.bytes = bytes;
    span.chunks = chunks;
    out_.spans.push_back(span);
  }
  /// All of it busy.
  void AddSpan(Phase phase, Interval times) { AddSpan(phase, times, INT64_MAX); }

  /// A phase chunk by chunk: its span and its stamps.
  void AddChunks(Phase phase, ChunkTimes times, int64_t busy_ns, uint64_t bytes) {
    ChunkStamps stamps{phase, round_, worker_, kNoWorker, {}};
    for (uint32_t chunk = 0; chunk < kSampleChunks; ++chunk) {
      const auto [begin, end] = times(round_, worker_, chunk);
      stamps.stamps.push_back(
          {chunk, OnWorkersClock(worker_, begin), OnWorkersClock(worker_, end)});
    }
    out_.stamps.push_back(stamps);
    AddSpan(phase,
            {times(round_, worker_, 0).begin_ns, times(round_, worker_, kSampleChunks - 1).end_ns},
            busy_ns, bytes, kSampleChunks);
  }

 private:
  const uint32_t round_;
  const int32_t worker_;
  Account& out_;
};

/// Worker 0 has shared the first base when the first round begins.
Interval ShareBaseTimes() { return {kSampleStart - 15 * kMs, kSampleStart - 7 * kMs}; }

Interval PrepareTimes(int32_t worker) {
  const int64_t joined = kSampleStart - (900 - 100 * worker) * kMs;
  return {joined, joined + (400 + 30 * worker) * kMs};
}

void AddWorkerSide(uint32_t round, int32_t worker, Account& out) {
  WorkerSide side(round, worker, out);
  const int64_t before = round > 1     ? DoneNs(round - 1, worker)
                         : worker == 0 ? ShareBaseTimes().end_ns
                                       : PrepareTimes(worker).end_ns;
  const int64_t heard = RoundBegin(round) + kHeardAfterNs;
  const int64_t trained = TrainedNs(round, worker);
  const int64_t unit = Slowness(worker) * kMs;
  constexpr uint32_t kLast = kSampleChunks - 1;
  side.AddSpan(Phase::kAwaitRound, {before, heard});
  if (EvaluatesIn(round)) side.AddSpan(Phase::kEvaluate, {heard, heard + kEvaluateNs});
  side.AddSpan(Phase::kTrain, {trained - TrainNs(round, worker), trained});
  side.AddChunks(Phase::kEncode, EncodeOf, 4 * unit, kPayloadBytes);
  side.AddChunks(Phase::kUpload, UploadOf, 2 * unit, kPayloadBytes);
  side.AddSpan(Phase::kWait, {UploadOf(round, worker, kLast).end_ns,
                              std::max(UploadOf(round, worker, kLast).end_ns,
                                       DownloadOf(round, worker, 0).begin_ns)});
  side.AddChunks(Phase::kDownload, DownloadOf, 3 * kMs, kPayloadBytes);
  side.AddChunks(Phase::kApply, ApplyOf, 2 * unit, kBaseBytes);
  side.AddSpan(Phase::kVerify, {ApplyOf(round, worker, kLast).end_ns, DoneNs(round, worker)},
               unit / 2, kBaseBytes, kSampleChunks);
}

/// A span of the coordinator's, and the stamps below it where `times` are given.
void AddCoordinatorSpan(Phase phase, uint32_t round, int32_t about, Interval span, int64_t busy,
                        uint64_t bytes, uint32_t chunks, Account& out) {
  const int64_t delay = busy / 50;
  out.spans.push_back({phase, round, kNoWorker, about, span.begin_ns, span.end_ns, busy, busy,
                       delay, bytes, chunks, true,
                       std::max<int64_t>(0, span.end_ns - span.begin_ns - busy - delay)});
}

void AddCoordinatorChunks(Phase phase, uint32_t round, int32_t about, ChunkTimes times,
                          int64_t busy, uint64_t bytes, Account& out) {
  ChunkStamps stamps{phase, round, kNoWorker, about, {}};
  for (uint32_t chunk = 0; chunk < kSampleChunks; ++chunk) {
    const auto [begin, end] = times(round, about, chunk);
    stamps.stamps.push_back({chunk, begin, end});
  }
  AddCoordinatorSpan(phase, round, about,
                     {stamps.stamps.front().begin_ns, stamps.stamps.back().end_ns}, busy, bytes,
                     kSampleChunks, out);
  out.stamps.push_back(stamps);
}

void AddCoordinatorSide(uint32_t round, Account& out) {
  const int64_t begin = RoundBegin(round);
  for (int32_t worker = 0; worker < kSampleWorkers; ++worker) {
    AddCoordinatorSpan(Phase::kStart, round, worker, {begin, begin + kMs}, 100'000, 0, 0, out);
    AddCoordinatorChunks(Phase::kReceive, round, worker, ReceiveOf, kMs, kPayloadBytes, out);
    const Span received = out.spans.back();
    AddCoordinatorSpan(Phase::kJournal, round, worker, {received.begin_ns, received.end_ns + kMs},
                       700'000, kPayloadBytes, kSampleChunks, out);
  }
  AddCoordinatorChunks(
      Phase::kMerge, round, kNoWorker,
      [](uint32_t of, int32_t, uint32_t chunk) { return MergeOf(of, chunk); }, 4'800'000,
      4 * kPayloadBytes, out);
  for (int32_t worker = 0; worker < kSampleWorkers; ++worker) {
    AddCoordinatorChunks(Phase::kSend, round, worker, SendOf, kMs, kPayloadBytes, out);
    const int64_t reported = DoneNs(round, worker) + kLinkNs;
    AddCoordinatorSpan(Phase::kReport, round, worker, {reported, reported}, 0, 0, 0, out);
  }
  const int64_t wall = WallNs(round);
  AddCoordinatorSpan(Phase::kRound, round, kNoWorker, {begin, begin + wall}, wall, 0, kSampleChunks,
                     out);
}

}  // namespace

Account PreparationAccount() {
  Account account;
  for (int32_t worker = 0; worker < kSampleWorkers; ++worker) {
    WorkerSide side(kBeforeRounds, worker, account);
    side.AddSpan(Phase::kPrepare, PrepareTimes(worker));
    if (worker == 0)
      side.AddSpan(Phase::kShareBase, ShareBaseTimes(), 3 * kMs, kBaseBytes, kSampleChunks);
  }
  AddCoordinatorSpan(Phase::kReceive, kBeforeRounds, 0,
                     {kSampleStart - 12 * kMs, kSampleStart - 5 * kMs}, 2 * kMs, kBaseBytes,
                     kSampleChunks, account);
  return account;
}

Account RoundAccount(uint32_t round) {
  Account account;
  for (int32_t worker = 0; worker < kSampleWorkers; ++worker) AddWorkerSide(round, worker, account);
  AddCoordinatorSide(round, account);
  account.Append(HostAccount(RoundBegin(round), RoundBegin(round) + WallNs(round)));
  return account;
}

Account LastAccount() {
  Account account;
  const int64_t begin = RoundBegin(kSampleRounds + 1) + kHeardAfterNs;
  for (int32_t worker = 0; worker < kSampleWorkers; ++worker) {
    WorkerSide(kSampleRounds + 1, worker, account)
        .AddSpan(Phase::kEvaluate, {begin, begin + kEvaluateNs});
  }
  return account;
}

}  // namespace interlude::internal
