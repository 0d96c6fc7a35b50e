// The Download stream: sync chunks as they are made or as they are retained, or chunks of the base.
#include <numeric>

#include "coordinator/service.h"
#include "wire/chunk_stream.h"
#include "wire/convert.h"

namespace interlude {
namespace {

struct DownloadCall {
  grpc::ServerContext& context;
  PieceWriter& writer;
  SharedState& shared;
  const interlude::Session& session;
  const DownloadOrder& order;
  const std::shared_ptr<const Exchange>& exchange;

  /// Whether no round passes before this worker has what it asks for.
  bool member() const { return session.member; }
  bool GivenUp() const { return context.IsCancelled() || session.dropped; }
  bool Send(uint32_t chunk, std::span<const std::byte> payload, const ChunkHashes& hashes,
            const PayloadOwner& owner) const {
    return SendChunk(chunk, payload, hashes,
                     [&](const v1::Piece& fields, std::span<const std::byte> bytes) {
                       return writer.Write(EncodePiece(fields, bytes, owner));
                     });
  }
};

struct SyncPayload {
  std::span<const std::byte> bytes;
  PayloadOwner owner;
};

/// As it lies in the journal, or a copy where the journal might give its place to a later round
/// meanwhile.
StatusOr<SyncPayload> FindSyncPayload(const DownloadCall& call, uint32_t chunk) {
  const DeltaStore& deltas = *call.exchange->deltas;
  const uint32_t round = call.order.round;
  if (call.member()) {
    INTERLUDE_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes,
                               deltas.FindSync(round, chunk));
    return SyncPayload{bytes, call.exchange};
  }
  const auto copy = std::make_shared<Buffer>("sync chunk to send", deltas.chunk_bytes()[chunk]);
  INTERLUDE_RETURN_IF_ERROR(deltas.CopySync(round, chunk, copy->bytes()));
  return SyncPayload{copy->bytes(), copy};
}

Status SendSyncChunk(const DownloadCall& call, uint32_t chunk, PhaseTimer& send) {
  const uint32_t round = call.order.round;
  const auto gone = [&] { return call.GivenUp(); };
  INTERLUDE_ASSIGN_OR_RETURN(const ChunkHashes hashes,
                             call.shared.board.Wait(round, chunk, call.order.worker, gone));
  INTERLUDE_ASSIGN_OR_RETURN(const SyncPayload payload, FindSyncPayload(call, chunk));
  auto scope = send.Enter(chunk);
  if (!call.Send(chunk, payload.bytes, hashes, payload.owner)) {
    return UnavailableError("worker {} closed its download of round {}", call.order.worker, round);
  }
  send.AddBytes(payload.bytes.size());
  send.AddChunk();
  return OkStatus();
}

/// What is sent waited for this too.
void RecordAsk(const DownloadCall& call) {
  const int64_t now_ns = call.shared.clock.Now().count();
  call.shared.recorder.Record({.phase = Phase::kAsk,
                               .round = call.order.round,
                               .about_worker = call.order.worker,
                               .begin_ns = now_ns,
                               .end_ns = now_ns});
}

Status SendSync(const DownloadCall& call, const std::vector<uint32_t>& chunks) {
  if (call.member()) RecordAsk(call);
  PhaseTimer send(Phase::kSend, call.order.round, kNoWorker, call.shared.clock, call.order.worker);
  Status status;
  for (size_t i = 0; status.ok() && i < chunks.size(); ++i) {
    status = SendSyncChunk(call, chunks[i], send);
  }
  if (!status.ok()) send.MarkFailed();
  // A worker that catches up is no part of the round; its own share_base tells of this.
  if (send.entered() && call.member()) call.shared.recorder.Record(send);
  return status;
}

/// Each chunk is copied while no merge changes it: what is sent is whole, whatever round it is of.
Status SendBase(const DownloadCall& call, const std::vector<uint32_t>& chunks) {
  for (const uint32_t chunk : chunks) {
    // gRPC may still hold the last chunk's copy, so each has memory of its own.
    const auto copy =
        std::make_shared<Buffer>("base chunk to send", call.exchange->base_chunk_bytes[chunk]);
    const ChunkHashes hashes = call.exchange->merger->CopyBaseChunk(chunk, copy->bytes());
    if (call.GivenUp() || !call.Send(chunk, copy->bytes(), hashes, copy)) {
      return UnavailableError("worker {} closed its download of the base", call.order.worker);
    }
  }
  return OkStatus();
}

Status HandleDownload(grpc::ServerContext& context, const v1::DownloadRequest& request,
                      PieceWriter& writer, SharedState& shared) {
  INTERLUDE_ASSIGN_OR_RETURN(const DownloadOrder order, FromProto(request));
  INTERLUDE_ASSIGN_OR_RETURN(const auto session, shared.sessions.Find(order.worker, order.session));
  const CallPlace place(session->bulk_streams, kMostBulkStreamsOfAWorker);
  if (!place.got()) return TooManyBulkStreams(order.worker);
  if (!session->may_download) {
    return FailedPreconditionError(
        "worker {} was neither told to catch up nor takes part in a round: it may not download",
        order.worker);
  }
  const std::shared_ptr<const Exchange> exchange = shared.exchange();
  INTERLUDE_CHECK(exchange != nullptr, "worker {} may download before there is a layout",
                  order.worker);
  const uint32_t num_chunks = exchange->merger->layout().num_chunks();
  std::vector<uint32_t> chunks = order.chunks;
  if (chunks.empty()) {
    chunks.resize(num_chunks);
    std::iota(chunks.begin(), chunks.end(), 0u);
  }
  for (const uint32_t chunk : chunks) {
    if (chunk >= num_chunks)
      return OutOfRangeError("chunk {} of a layout with {} chunks", chunk, num_chunks);
  }
  const DownloadCall call{context, writer, shared, *session, order, exchange};
  return order.kind == DownloadKind::kSync ? SendSync(call, chunks) : SendBase(call, chunks);
}

}  // namespace

grpc::Status CoordinatorService::Download(grpc::ServerContext* context,
                                          const v1::DownloadRequest* request, PieceWriter* writer) {
  return ToGrpc(HandleDownload(*context, *request, *writer, shared_));
}

}  // namespace interlude
