#include "worker/exchange.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/log.h"
#include "worker/bulk_link.h"
#include "worker/call_threads.h"
#include "worker/chunk_download.h"
#include "worker/encode_progress.h"
#include "worker/uploader.h"

namespace interlude {
namespace {

/// A call's opening, or its closing: no chunk moves meanwhile, and what comes next waits for it.
/// Begin and End are one thread's.
class CallRecord {
 public:
  CallRecord(const WorkerContext& context, uint32_t round)
      : recorder_(context.recorder), timer_(Phase::kCall, round, context.worker, context.clock) {}

  void Begin() { scope_.emplace(timer_, std::nullopt); }
  /// Where it has begun and not ended.
  void End() {
    if (!scope_) return;
    scope_.reset();
    recorder_.Record(timer_);
  }

 private:
  Recorder& recorder_;
  PhaseTimer timer_;
  std::optional<PhaseTimer::Scope> scope_;
};

std::vector<uint32_t> AllChunks(uint32_t count) {
  std::vector<uint32_t> chunks(count);
  std::iota(chunks.begin(), chunks.end(), 0u);
  return chunks;
}

/// One round's exchange. Uploading and downloading have a thread each; encoding and applying are
/// tasks of the codec pool, a chunk each, encoding first. They share what stands here: a chunk's
/// payload and its hash are written before EncodeProgress tells the others, what was announced
/// before its task is submitted; everything else has one owner or a lock of its own.
class Exchange {
 public:
  Exchange(WorkerContext& context, uint32_t round, uint64_t samples)
      : context_(context),
        model_(context.model),
        round_(round),
        samples_(samples),
        encode_(Timer(Phase::kEncode)),
        upload_(Timer(Phase::kUpload)),
        download_(Timer(Phase::kDownload)),
        apply_(Timer(Phase::kApply)),
        verify_(Timer(Phase::kVerify)),
        encoded_(model_.num_chunks()),
        payload_hashes_(model_.num_chunks()),
        announced_bases_(model_.num_chunks()),
        dropped_(model_.num_chunks()),
        uploader_(link_, upload_),
        downloader_(link_, DownloadKind::kSync, round, model_.PayloadBytes(model_.codec()),
                    context.clock, download_) {}

  StatusOr<ExchangeResult> Run();

 private:
  PhaseTimer Timer(Phase phase) const {
    return PhaseTimer(phase, round_, context_.worker, context_.clock);
  }
  Status Together(const std::vector<std::function<Status()>>& parts);
  Status RunPipelined();
  Status RunBarrier();

  Status Encode();
  Status EncodeChunk(uint32_t chunk);
  Status Upload();
  Status DownloadAndApply();
  Status DownloadOnly();
  Status FetchSync(const ChunkDownload::Stage& stage, const ChunkDownload::Deliver& deliver);
  Status ApplyDownloaded();
  Status Received(const ChunkReceiver::Completed& completed, std::span<const std::byte> payload);
  void SubmitApply(uint32_t chunk, std::span<const std::byte> payload);
  std::vector<uint32_t> Mismatched();
  StatusOr<uint32_t> Repair();
  void RecordSpans();
  Span WaitSpan() const;

  WorkerContext& context_;
  WorkerModel& model_;
  const uint32_t round_;
  const uint64_t samples_;
  CallGroup calls_;
  const BulkLink link_{context_.bulk, context_.worker, context_.session, calls_, &context_.control};
  PhaseTimer encode_;
  PhaseTimer upload_;
  PhaseTimer download_;
  PhaseTimer apply_;
  PhaseTimer verify_;
  EncodeProgress encoded_;
  std::vector<Hash128> payload_hashes_;
  std::vector<Hash128> announced_bases_;
  std::vector<uint8_t> dropped_;  // the round went on without this worker's chunk
  uint32_t repaired_chunks_ = 0;
  std::optional<Nanoseconds> uploaded_at_;
  Uploader uploader_;
  ChunkDownload downloader_;
};

Status Exchange::Encode() {
  for (uint32_t chunk = 0; chunk < model_.num_chunks(); ++chunk) {
    context_.pool.Submit([this, chunk] {
      if (!encoded_.wanted()) return;
      const Status status = EncodeChunk(chunk);
      if (status.ok()) return encoded_.ChunkEncoded(chunk);
      encode_.MarkFailed();
      encoded_.Fail(status);
    });
  }
  return encoded_.AwaitAll();
}

Status Exchange::EncodeChunk(uint32_t chunk) {
  if (!context_.keep_going()) return CancelledError("encoding of round {} was given up", round_);
  const std::span<std::byte> payload = model_.payload(chunk);
  const PhaseTimer::Scope scope = encode_.Enter(chunk);
  const EncodeOutcome outcome = model_.Encode(chunk, payload_hashes_[chunk]);
  if (outcome.first_nonfinite.has_value()) {
    const size_t position = model_.layout().chunk(chunk).begin + *outcome.first_nonfinite;
    return DataLossError(
        "worker {}, round {}: the change of {} is NaN or infinite and was not sent; a lower "
        "learning rate may help",
        context_.worker, round_, model_.layout().DescribePosition(position));
  }
  encode_.AddBytes(payload.size());
  encode_.AddChunk();
  return OkStatus();
}

Status Exchange::Upload() {
  const UploadHeader header{
      .kind = UploadKind::kDelta, .round = round_, .codec = model_.codec(), .samples = samples_};
  CallRecord opening(context_, round_);
  opening.Begin();
  const Status status = uploader_.Send(header, model_.num_chunks(), [&](uint32_t chunk) {
    opening.End();
    std::optional<Uploader::Chunk> ready;
    if (encoded_.AwaitChunk(chunk))
      ready =
          Uploader::Chunk{model_.payload(chunk), payload_hashes_[chunk], model_.payload_owner()};
    return ready;
  });
  if (!status.ok()) upload_.MarkFailed();
  uploaded_at_ = context_.clock.Now();
  return status;
}

Status Exchange::DownloadAndApply() {
  const auto stage = [this](uint32_t chunk) {
    return model_.staging().Take(chunk).first(model_.PayloadBytes(model_.codec(), chunk));
  };
  return FetchSync(stage, [&](const ChunkReceiver::Completed& completed) {
    const uint32_t chunk = completed.chunk;
    // The coordinator merges chunk i after this worker's chunk i has come, so encoding is done
    // with it. Should it ever merge without this worker, encoding must still not see half an
    // update.
    if (!encoded_.AwaitChunk(chunk))
      return CancelledError("applying round {} was given up", round_);
    const std::span<const std::byte> payload = stage(chunk);
    INTERLUDE_RETURN_IF_ERROR(Received(completed, payload));
    SubmitApply(chunk, payload);
    return OkStatus();
  });
}

Status Exchange::DownloadOnly() {
  return FetchSync([this](uint32_t chunk) { return model_.sync_payload(chunk); },
                   [this](const ChunkReceiver::Completed& completed) {
                     return Received(completed, model_.sync_payload(completed.chunk));
                   });
}

Status Exchange::FetchSync(const ChunkDownload::Stage& stage,
                           const ChunkDownload::Deliver& deliver) {
  CallRecord closing(context_, round_);
  uint32_t missing = model_.num_chunks();
  const Status status = downloader_.Fetch(AllChunks(model_.num_chunks()), stage,
                                          [&](const ChunkReceiver::Completed& completed) {
                                            INTERLUDE_RETURN_IF_ERROR(deliver(completed));
                                            if (--missing == 0) closing.Begin();
                                            return OkStatus();
                                          });
  closing.End();
  if (!status.ok()) download_.MarkFailed();
  return status;
}

Status Exchange::ApplyDownloaded() {
  for (uint32_t chunk = 0; chunk < model_.num_chunks(); ++chunk) {
    SubmitApply(chunk, model_.sync_payload(chunk));
  }
  context_.pool.Drain();
  return OkStatus();
}

Status Exchange::Received(const ChunkReceiver::Completed& completed,
                          std::span<const std::byte> payload) {
  announced_bases_[completed.chunk] = completed.hashes.base;
  dropped_[completed.chunk] = completed.hashes.dropped;
  const size_t count = model_.layout().chunk(completed.chunk).count;
  return ValidatePayload(model_.codec(), payload, count)
      .WithContext(fmt::format("sync delta of round {}, chunk {}", round_, completed.chunk));
}

void Exchange::SubmitApply(uint32_t chunk, std::span<const std::byte> payload) {
  context_.pool.Submit([this, chunk, payload] {
    {
      const PhaseTimer::Scope scope = apply_.Enter(chunk);
      model_.ApplySync(chunk, payload, round_, dropped_[chunk] != 0);
    }
    apply_.AddBytes(payload.size());
    apply_.AddChunk();
    model_.staging().Release(chunk);
  });
}

Status Exchange::Together(const std::vector<std::function<Status()>>& parts) {
  return RunTogether(parts, context_.keep_going, [this] {
    encoded_.Abandon();
    calls_.Cancel();
  });
}

Status Exchange::RunPipelined() {
  return Together({[this] { return Encode(); }, [this] { return Upload(); },
                   [this] { return DownloadAndApply(); }});
}

Status Exchange::RunBarrier() {
  INTERLUDE_RETURN_IF_ERROR(Together({[this] { return Encode(); }}));
  INTERLUDE_RETURN_IF_ERROR(Together({[this] { return Upload(); }}));
  INTERLUDE_RETURN_IF_ERROR(Together({[this] { return DownloadOnly(); }}));
  return Together({[this] { return ApplyDownloaded(); }});
}

std::vector<uint32_t> Exchange::Mismatched() {
  const PhaseTimer::Scope scope = verify_.Enter();
  std::vector<uint32_t> mismatched;
  for (uint32_t chunk = 0; chunk < model_.num_chunks(); ++chunk) {
    verify_.AddBytes(model_.PayloadBytes(Codec::kFp32, chunk));
    verify_.AddChunk();
    if (model_.copy().BaseHash(chunk) != announced_bases_[chunk]) mismatched.push_back(chunk);
  }
  return mismatched;
}

StatusOr<uint32_t> Exchange::Repair() {
  const std::vector<uint32_t> mismatched = Mismatched();
  repaired_chunks_ = static_cast<uint32_t>(mismatched.size());
  if (mismatched.empty()) return 0u;
  LogWarning(
      "round {}: {} chunks differ from the coordinator's after applying, the first is {}; "
      "repairing them",
      round_, mismatched.size(), mismatched.front());
  return RepairBase(context_, round_, mismatched, verify_);
}

Span Exchange::WaitSpan() const {
  Span wait{.phase = Phase::kWait, .round = round_, .recorded_by = context_.worker};
  const Nanoseconds begin = *uploaded_at_;
  const Nanoseconds end = std::max(begin, downloader_.first_piece().value_or(begin));
  wait.begin_ns = begin.count();
  wait.end_ns = end.count();
  wait.busy_ns = (end - begin).count();
  return wait;
}

void Exchange::RecordSpans() {
  for (const PhaseTimer* timer : {&encode_, &upload_, &download_, &apply_, &verify_}) {
    if (timer->entered()) context_.recorder.Record(*timer);
  }
  if (uploaded_at_.has_value()) context_.recorder.Record(WaitSpan());
}

StatusOr<ExchangeResult> Exchange::Run() {
  Status status = model_.barrier() ? RunBarrier() : RunPipelined();
  context_.pool.Drain();  // chunks may still be applied, or encoded in vain
  model_.staging().ReleaseAll();
  StatusOr<uint32_t> repair_retries = 0u;
  if (status.ok()) {
    repair_retries = Repair();
    status = repair_retries.status();
  }
  RecordSpans();
  if (!status.ok()) return status;
  return ExchangeResult{.upload_bytes = uploader_.bytes(),
                        .download_bytes = downloader_.bytes(),
                        .repaired_chunks = repaired_chunks_,
                        .retries = uploader_.retries() + downloader_.retries() + *repair_retries};
}

}  // namespace

StatusOr<ExchangeResult> RunExchange(WorkerContext& context, uint32_t round, uint64_t samples) {
  return Exchange(context, round, samples).Run();
}

StatusOr<uint32_t> UploadBase(WorkerContext& context) {
  WorkerModel& model = context.model;
  CallGroup calls;
  const BulkLink link{context.bulk, context.worker, context.session, calls, &context.control};
  PhaseTimer timer(Phase::kShareBase, kBeforeRounds, context.worker, context.clock);
  Uploader uploader(link, timer);
  Buffer room("base chunk to send", model.PayloadBytes(Codec::kFp32, 0));
  const auto send = [&] {
    return uploader.Send({.kind = UploadKind::kBase, .codec = Codec::kFp32}, model.num_chunks(),
                         [&](uint32_t chunk) {
                           const std::span<std::byte> bytes =
                               room.bytes().first(model.PayloadBytes(Codec::kFp32, chunk));
                           model.copy().ReadBase(chunk, bytes);
                           // Little-endian floats are their own payload, so the base's hash is the
                           // payload's. Without an owner gRPC gets a copy: `room` is used again.
                           return std::optional<Uploader::Chunk>(
                               Uploader::Chunk{bytes, model.copy().BaseHash(chunk), nullptr});
                         });
  };
  const Status status = RunTogether({send}, context.keep_going, [&] { calls.Cancel(); });
  if (!status.ok()) return status.WithContext("uploading the first base");
  context.recorder.Record(timer);
  return uploader.retries();
}

StatusOr<uint32_t> RepairBase(WorkerContext& context, uint32_t round,
                              const std::vector<uint32_t>& chunks, PhaseTimer& timer,
                              const std::function<void(uint32_t)>& replaced) {
  WorkerModel& model = context.model;
  CallGroup calls;
  const BulkLink link{context.bulk, context.worker, context.session, calls, &context.control};
  const std::vector<size_t> chunk_bytes = model.PayloadBytes(Codec::kFp32);
  ChunkDownload download(link, DownloadKind::kBase, round, chunk_bytes, context.clock, timer);
  const auto stage = [&](uint32_t chunk) {
    return model.staging().Take(chunk).first(chunk_bytes[chunk]);
  };
  const auto replace = [&](const ChunkReceiver::Completed& completed) {
    const PhaseTimer::Scope scope = timer.Enter();
    INTERLUDE_RETURN_IF_ERROR(
        model.ReplaceBase(completed.chunk, stage(completed.chunk), completed.hashes.base_round));
    model.staging().Release(completed.chunk);
    const Hash128 hash = model.copy().BaseHash(completed.chunk);
    if (hash == completed.hashes.base) {
      if (replaced) replaced(completed.chunk);
      return OkStatus();
    }
    return DataLossError(
        "round {}, chunk {}: the repaired base hashes to {}, the coordinator says {}; this "
        "machine's memory may be faulty",
        round, completed.chunk, hash.ToHex(), completed.hashes.base.ToHex());
  };
  const Status status = RunTogether({[&] { return download.Fetch(chunks, stage, replace); }},
                                    context.keep_going, [&] { calls.Cancel(); });
  model.staging().ReleaseAll();
  if (!status.ok()) return status;
  return download.retries();
}

}  // namespace interlude
