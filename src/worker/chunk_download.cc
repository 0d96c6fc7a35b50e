#include "worker/chunk_download.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace interlude {

ChunkDownload::ChunkDownload(const BulkLink& link, DownloadKind kind, uint32_t round,
                             std::vector<size_t> chunk_bytes, const Clock& clock, PhaseTimer& timer)
    : link_(link),
      kind_(kind),
      round_(round),
      chunk_bytes_(std::move(chunk_bytes)),
      clock_(clock),
      timer_(timer) {}

Status ChunkDownload::Fetch(const std::vector<uint32_t>& wanted, const Stage& stage,
                            const Deliver& deliver) {
  std::vector<uint32_t> missing = wanted;
  RetryPolicy retry(link_);
  for (;;) {
    const Status status = Attempt(missing, stage, deliver);
    if (missing.empty()) return OkStatus();
    if (!retry.MayRetry(status)) return status;
    ++retries_;
    LogWarning(
        "download of round {} broke with {} of {} chunks missing ({}); trying again, attempt {} of "
        "{}",
        round_, missing.size(), wanted.size(), status.ToString(), retry.attempt(), kBulkAttempts);
  }
}

Status ChunkDownload::Attempt(std::vector<uint32_t>& missing, const Stage& stage,
                              const Deliver& deliver) {
  const bool all = missing.size() == chunk_bytes_.size();
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  const CallGroup::Membership membership(link_.calls, context);
  const auto reader = link_.stub.Download(
      &context, ToProto(DownloadOrder{.worker = link_.worker,
                                      .session = link_.session,
                                      .kind = kind_,
                                      .round = round_,
                                      .chunks = all ? std::vector<uint32_t>() : missing}));
  ChunkReceiver receiver(chunk_bytes_, missing,
                         [&](uint32_t chunk, uint64_t offset, ByteSpans bytes) {
                           CopySpans(bytes, stage(chunk).data() + offset);
                           return OkStatus();
                         });
  Status trouble;
  grpc::ByteBuffer message;
  std::optional<Nanoseconds> chunk_began;
  while (trouble.ok() && Read(*reader, message)) {
    if (!chunk_began.has_value()) chunk_began = clock_.Now();
    const auto completed = [&]() -> StatusOr<std::optional<ChunkReceiver::Completed>> {
      const PhaseTimer::Scope scope = timer_.Enter();
      INTERLUDE_ASSIGN_OR_RETURN(const RawPiece piece, RawPiece::Parse(message));
      bytes_ += piece.payload_bytes();
      timer_.AddBytes(piece.payload_bytes());
      return receiver.Accept(piece);
    }();
    trouble = completed.status();
    if (!completed.ok() || !completed->has_value()) continue;
    timer_.AddStamp((*completed)->chunk, *chunk_began, clock_.Now());
    chunk_began.reset();
    trouble = deliver(**completed);
    if (!trouble.ok()) continue;
    timer_.AddChunk();
    missing.erase(std::find(missing.begin(), missing.end(), (*completed)->chunk));
  }
  if (!trouble.ok()) context.TryCancel();
  const Status end = FromGrpc(reader->Finish());
  if (!trouble.ok()) return trouble;
  if (!end.ok()) return end;
  return UnavailableError("the coordinator ended the download of round {} with {} chunks missing",
                          round_, missing.size());
}

bool ChunkDownload::Read(PieceReader& reader, grpc::ByteBuffer& message) {
  if (first_piece_.has_value()) {
    const PhaseTimer::Scope scope = timer_.Enter();
    return reader.Read(&message);
  }
  if (!reader.Read(&message)) return false;
  first_piece_ = clock_.Now();
  return true;
}

}  // namespace interlude
