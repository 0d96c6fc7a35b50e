#include "worker/uploader.h"

#include "base/log.h"
#include "wire/chunk_stream.h"

namespace interlude {
namespace {

std::string NameOf(const UploadHeader& header) {
  return header.kind == UploadKind::kBase ? "the first base"
                                          : fmt::format("round {}", header.round);
}

}  // namespace

Status Uploader::Send(UploadHeader header, uint32_t num_chunks, const Provide& provide) {
  header.worker = link_.worker;
  header.session = link_.session;
  for (int attempt = 1;; ++attempt) {
    const Status status = Attempt(header, num_chunks, provide);
    if (status.ok() || attempt == kBulkAttempts || !MayRetry(status, link_.calls)) return status;
    ++retries_;
    LogWarning("upload of {} broke ({}); trying again, attempt {} of {}", NameOf(header),
               status.ToString(), attempt + 1, kBulkAttempts);
  }
}

Status Uploader::Attempt(const UploadHeader& header, uint32_t num_chunks, const Provide& provide) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  const CallGroup::Membership membership(link_.calls, context);
  v1::UploadReceipt receipt;
  const auto writer = link_.stub.Upload(&context, &receipt);
  v1::UploadMessage first;
  *first.mutable_header() = ToProto(header);
  bool open = writer->Write(EncodeMessage(first));
  bool complete = true;
  for (uint32_t chunk = 0; open && chunk < num_chunks; ++chunk) {
    const std::optional<Chunk> ready = provide(chunk);
    if (!ready.has_value()) {
      complete = false;
      break;
    }
    const PhaseTimer::Scope scope = timer_.Enter();
    open = SendChunk(chunk, ready->payload, {.payload = ready->hash},
                     [&](const v1::Piece& fields, std::span<const std::byte> payload) {
                       bytes_ += payload.size();
                       timer_.AddBytes(payload.size());
                       return writer->Write(EncodeUploadPiece(fields, payload, ready->owner));
                     });
    timer_.AddChunk();
  }
  if (!complete) context.TryCancel();
  const PhaseTimer::Scope scope = timer_.Enter();
  if (open && complete) writer->WritesDone();
  const Status status = FromGrpc(writer->Finish());
  if (!complete) return CancelledError("the upload of {} was given up", NameOf(header));
  return status;
}

}  // namespace interlude
