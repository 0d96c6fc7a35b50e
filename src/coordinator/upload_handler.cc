// The Upload stream: pieces of a delta go to their place in the journal, pieces of the first base
// to the base; and what is still missing of a delta.
#include <set>

#include "base/crash_point.h"
#include "coordinator/service.h"
#include "wire/chunk_stream.h"
#include "wire/convert.h"

namespace interlude {
namespace {

using SessionPtr = std::shared_ptr<interlude::Session>;

StatusOr<UploadHeader> ReadHeader(UploadReader& reader) {
  grpc::ByteBuffer message;
  if (!reader.Read(&message)) return CancelledError("the upload was closed before its header came");
  v1::UploadMessage first;
  INTERLUDE_RETURN_IF_ERROR(ParseMessage(message, first));
  if (!first.has_header()) return InvalidArgumentError("an upload begins with its header");
  return FromProto(first.header());
}

/// The generation to store under, or why this upload may not begin.
StatusOr<uint64_t> AskRoundThread(SharedState& shared, const SessionPtr& session,
                                  const UploadHeader& header) {
  UploadBegunEvent event{session, header, {}};
  std::future<StatusOr<uint64_t>> reply = event.reply.get_future();
  if (!shared.events.Push(std::move(event))) return UnavailableError("the run is ending");
  return reply.get();
}

/// Feeds the stream's pieces to the receiver; `on_chunk` sees each whole chunk, and when its first
/// piece came.
Status ReceiveAll(
    UploadReader& reader, ChunkReceiver& receiver, PhaseTimer& receive, const Clock& clock,
    const std::function<Status(const ChunkReceiver::Completed&, Nanoseconds)>& on_chunk) {
  grpc::ByteBuffer message;
  std::optional<Nanoseconds> chunk_began;
  while (!receiver.complete() && reader.Read(&message)) {
    auto scope = receive.Enter();
    if (!chunk_began.has_value()) chunk_began = clock.Now();
    INTERLUDE_ASSIGN_OR_RETURN(const RawPiece piece, RawPiece::ParseUpload(message));
    receive.AddBytes(piece.payload_bytes());
    INTERLUDE_ASSIGN_OR_RETURN(const auto completed, receiver.Accept(piece));
    if (!completed) continue;
    receive.AddChunk();
    INTERLUDE_RETURN_IF_ERROR(on_chunk(*completed, *chunk_began));
    chunk_began.reset();
  }
  if (!receiver.complete()) {
    return DataLossError("the upload ended early: {} chunks are missing; send them again",
                         receiver.missing());
  }
  return OkStatus();
}

/// Pieces and chunks that there cannot be. Damage on the way is none.
bool IsOffence(const Status& status) {
  return status.code() == StatusCode::kInvalidArgument || status.code() == StatusCode::kOutOfRange;
}

Status ReceiveDelta(UploadReader& reader, SharedState& shared, const SessionPtr& session,
                    const UploadHeader& header, uint64_t generation, const Exchange& exchange) {
  const WorkerId worker = header.worker;
  PhaseTimer receive(Phase::kReceive, header.round, kNoWorker, shared.clock, worker);
  PhaseTimer journal(Phase::kJournal, header.round, kNoWorker, shared.clock, worker);
  DeltaStore& deltas = *exchange.deltas;
  const auto store = [&](uint32_t chunk, uint64_t offset, ByteSpans bytes) {
    auto scope = journal.Enter();
    return session->Store(generation, [&] {
      for (const std::span<const std::byte> part : bytes) {
        INTERLUDE_RETURN_IF_ERROR(deltas.Write(header.round, worker, chunk, offset, part));
        journal.AddBytes(part.size());
        offset += part.size();
      }
      return OkStatus();
    });
  };
  ChunkReceiver receiver(deltas.chunk_bytes(), header.chunks, store);
  Status offence;
  const auto on_chunk = [&](const ChunkReceiver::Completed& completed, Nanoseconds began) {
    INTERLUDE_RETURN_IF_ERROR(session->Store(generation, [&] {
      auto scope = journal.Enter();
      journal.AddChunk();
      CrashPoint();
      const Status sealed =
          deltas.Seal(header.round, worker, completed.chunk, completed.hashes.payload);
      // It is what the worker sent, and no number can come of it.
      if (sealed.code() == StatusCode::kDataLoss) offence = sealed;
      return sealed;
    }));
    // Before its merge can begin, so that the record has cause and effect in order.
    receive.AddStamp(completed.chunk, began, shared.clock.Now());
    if (!shared.events.Push(ChunkStoredEvent{session, header.round, completed.chunk})) {
      return UnavailableError("the run is ending");
    }
    return OkStatus();
  };
  const Status status = ReceiveAll(reader, receiver, receive, shared.clock, on_chunk);
  if (!status.ok()) receive.MarkFailed();
  if (!offence.ok() || IsOffence(status)) {
    shared.events.Push(OffenceEvent{session, offence.ok() ? status : offence});
  }
  shared.recorder.Record(receive);
  shared.recorder.Record(journal);
  return status.WithContext(fmt::format("delta from worker {}, round {}", worker, header.round));
}

Status ReceiveBase(UploadReader& reader, SharedState& shared, const SessionPtr& session,
                   const UploadHeader& header, uint64_t generation, const Exchange& exchange) {
  PhaseTimer receive(Phase::kReceive, kBeforeRounds, kNoWorker, shared.clock, header.worker);
  Merger& merger = *exchange.merger;
  const auto store = [&](uint32_t chunk, uint64_t offset, ByteSpans bytes) {
    return session->Store(generation, [&] {
      CopySpans(bytes, merger.BaseChunkBytes(chunk).data() + offset);
      return OkStatus();
    });
  };
  ChunkReceiver receiver(exchange.base_chunk_bytes, {}, store);
  INTERLUDE_RETURN_IF_ERROR(
      ReceiveAll(reader, receiver, receive, shared.clock,
                 [](const ChunkReceiver::Completed&, Nanoseconds) { return OkStatus(); }));
  shared.recorder.Record(receive);
  BaseStoredEvent event{session, {}};
  std::future<Status> reply = event.reply.get_future();
  if (!shared.events.Push(std::move(event))) return UnavailableError("the run is ending");
  return reply.get();
}

Status CheckChunks(const UploadHeader& header, uint32_t num_chunks) {
  const std::set<uint32_t> chunks(header.chunks.begin(), header.chunks.end());
  if (chunks.size() != header.chunks.size()) {
    return InvalidArgumentError("an upload announces a chunk twice");
  }
  if (chunks.empty() || *chunks.rbegin() < num_chunks) return OkStatus();
  return OutOfRangeError("chunk {} of a layout with {} chunks", *chunks.rbegin(), num_chunks);
}

StatusOr<UploadHeader> ReadHeaderInTime(UploadReader& reader, grpc::ServerContext& context,
                                        CallDeadlines& deadlines) {
  const CallDeadlines::Watch watch(deadlines, context, kFirstMessageWithin);
  return ReadHeader(reader);
}

Status HandleUpload(UploadReader& reader, const UploadHeader& header, SharedState& shared) {
  INTERLUDE_ASSIGN_OR_RETURN(const SessionPtr session,
                             shared.sessions.Find(header.worker, header.session));
  const CallPlace place(session->bulk_streams, kMostBulkStreamsOfAWorker);
  if (!place.got()) return TooManyBulkStreams(header.worker);
  const StatusOr<uint64_t> generation = AskRoundThread(shared, session, header);
  if (generation.status().code() == StatusCode::kAlreadyExists) return OkStatus();
  if (!generation.ok()) return generation.status();
  const std::shared_ptr<const Exchange> exchange = shared.exchange();
  INTERLUDE_CHECK(exchange != nullptr,
                  "the round thread accepted an upload before there was a layout");
  INTERLUDE_RETURN_IF_ERROR(CheckChunks(header, exchange->merger->layout().num_chunks()));
  return header.kind == UploadKind::kBase
             ? ReceiveBase(reader, shared, session, header, *generation, *exchange)
             : ReceiveDelta(reader, shared, session, header, *generation, *exchange);
}

}  // namespace

grpc::Status CoordinatorService::MissingChunks(grpc::ServerContext* /*context*/,
                                               const v1::UploadHeader* proto,
                                               v1::ChunkList* missing) {
  const StatusOr<UploadHeader> header = FromProto(*proto);
  if (!header.ok()) return ToGrpc(header.status());
  const auto session = shared_.sessions.Find(header->worker, header->session);
  if (!session.ok()) return ToGrpc(session.status());
  const std::shared_ptr<const Exchange> exchange = shared_.exchange();
  if (exchange == nullptr) return ToGrpc(FailedPreconditionError("no layout is known yet"));
  *missing = ToProto(exchange->deltas->Missing(header->round, header->worker));
  return grpc::Status::OK;
}

grpc::Status CoordinatorService::Upload(grpc::ServerContext* context, UploadReader* reader,
                                        v1::UploadReceipt* /*receipt*/) {
  const auto header = ReadHeaderInTime(*reader, *context, deadlines_);
  return ToGrpc(header.ok() ? HandleUpload(*reader, *header, shared_) : header.status());
}

}  // namespace interlude
