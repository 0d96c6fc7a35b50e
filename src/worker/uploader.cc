#include "worker/uploader.h"

#include <algorithm>
#include <numeric>

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
  std::vector<uint32_t> chunks(num_chunks);
  std::iota(chunks.begin(), chunks.end(), 0u);
  RetryPolicy retry(link_);
  for (;;) {
    const Status status = Attempt(header, chunks, provide);
    if (status.ok() || !retry.MayRetry(status)) return status;
    ++retries_;
    if (header.kind == UploadKind::kDelta) AskWhatIsMissing(header, chunks);
    LogWarning("upload of {} broke ({}); going on with {} of {} chunks, attempt {} of {}",
               NameOf(header), status.ToString(), chunks.size(), num_chunks, retry.attempt(),
               kBulkAttempts);
    if (chunks.empty()) return OkStatus();
    header.chunks = chunks.size() < num_chunks ? chunks : std::vector<uint32_t>();
  }
}

void Uploader::AskWhatIsMissing(const UploadHeader& header, std::vector<uint32_t>& chunks) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  const CallGroup::Membership membership(link_.calls, context);
  v1::ChunkList reply;
  if (!link_.stub.MissingChunks(&context, ToProto(header), &reply).ok()) return;
  const StatusOr<std::vector<uint32_t>> missing = FromProto(reply);
  if (!missing.ok()) return;
  std::erase_if(chunks, [&](uint32_t chunk) {
    return std::find(missing->begin(), missing->end(), chunk) == missing->end();
  });
}

Status Uploader::Attempt(const UploadHeader& header, const std::vector<uint32_t>& chunks,
                         const Provide& provide) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  const CallGroup::Membership membership(link_.calls, context);
  v1::UploadReceipt receipt;
  const auto writer = link_.stub.Upload(&context, &receipt);
  v1::UploadMessage first;
  *first.mutable_header() = ToProto(header);
  bool open = writer->Write(EncodeMessage(first));
  bool complete = true;
  for (size_t i = 0; open && i < chunks.size(); ++i) {
    const uint32_t chunk = chunks[i];
    const std::optional<Chunk> ready = provide(chunk);
    if (!ready.has_value()) {
      complete = false;
      break;
    }
    const PhaseTimer::Scope scope = timer_.Enter(chunk);
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
