// Bulk messages, hashes and statuses. The Session's messages: worker_messages.cc,
// coordinator_messages.cc.
#include "wire/convert.h"

#include <limits>

#include "wire/field_checks.h"

namespace interlude {

using internal::CheckAtMost;
using internal::CheckRange;

namespace {

/// gRPC keeps the message in HTTP/2 trailers, percent-encoded, and refuses trailers beyond 8 KiB.
constexpr size_t kMaxStatusBytes = 4096;

bool NeedsPercent(char c) { return c < 0x20 || c > 0x7e || c == '%'; }

/// The longest beginning of `text` that stays within kMaxStatusBytes when percent-encoded.
std::string CutForTrailers(const std::string& text) {
  size_t encoded = 0;
  size_t length = 0;
  for (; length < text.size(); ++length) {
    encoded += NeedsPercent(text[length]) ? 3 : 1;
    if (encoded > kMaxStatusBytes) break;
  }
  if (length == text.size()) return text;
  const auto continues = [&](size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
  };
  while (length > 0 && continues(length)) --length;
  return text.substr(0, length) + " [cut]";
}

// The numbers are the same.
v1::Codec CodecToProto(Codec codec) { return static_cast<v1::Codec>(codec); }
static_assert(v1::CODEC_Q4 == static_cast<int>(Codec::kQ4) &&
              v1::CODEC_FP32 == static_cast<int>(Codec::kFp32) &&
              v1::CODEC_Q8 == static_cast<int>(Codec::kQ8));

StatusOr<Codec> CodecFromProto(v1::Codec codec) {
  switch (codec) {
    case v1::CODEC_Q4:
      return Codec::kQ4;
    case v1::CODEC_FP32:
      return Codec::kFp32;
    case v1::CODEC_Q8:
      return Codec::kQ8;
    default:
      return InvalidArgumentError("codec {} is unknown to this program", static_cast<int>(codec));
  }
}

StatusOr<UploadKind> UploadKindFromProto(v1::UploadKind kind) {
  switch (kind) {
    case v1::UPLOAD_KIND_DELTA:
      return UploadKind::kDelta;
    case v1::UPLOAD_KIND_BASE:
      return UploadKind::kBase;
    default:
      return InvalidArgumentError("upload kind {} is unknown to this program",
                                  static_cast<int>(kind));
  }
}

StatusOr<DownloadKind> DownloadKindFromProto(v1::DownloadKind kind) {
  switch (kind) {
    case v1::DOWNLOAD_KIND_SYNC:
      return DownloadKind::kSync;
    case v1::DOWNLOAD_KIND_BASE:
      return DownloadKind::kBase;
    default:
      return InvalidArgumentError("download kind {} is unknown to this program",
                                  static_cast<int>(kind));
  }
}

}  // namespace

v1::Hash ToProto(const Hash128& hash) {
  v1::Hash proto;
  proto.set_high(hash.high);
  proto.set_low(hash.low);
  return proto;
}

Hash128 FromProto(const v1::Hash& hash) { return {.high = hash.high(), .low = hash.low()}; }

v1::UploadHeader ToProto(const UploadHeader& header) {
  v1::UploadHeader proto;
  proto.set_worker(header.worker);
  proto.set_session(header.session);
  proto.set_kind(header.kind == UploadKind::kDelta ? v1::UPLOAD_KIND_DELTA : v1::UPLOAD_KIND_BASE);
  proto.set_round(header.round);
  proto.set_codec(CodecToProto(header.codec));
  proto.set_samples(header.samples);
  proto.mutable_chunks()->Assign(header.chunks.begin(), header.chunks.end());
  return proto;
}

StatusOr<UploadHeader> FromProto(const v1::UploadHeader& proto) {
  INTERLUDE_RETURN_IF_ERROR(
      CheckRange("worker", proto.worker(), 0, std::numeric_limits<WorkerId>::max()));
  INTERLUDE_RETURN_IF_ERROR(CheckAtMost("samples", proto.samples(), kMaxSamples));
  INTERLUDE_RETURN_IF_ERROR(
      CheckAtMost("the number of chunks", static_cast<uint64_t>(proto.chunks_size()), kMaxChunks));
  UploadHeader header{.worker = proto.worker(),
                      .session = proto.session(),
                      .round = proto.round(),
                      .samples = proto.samples(),
                      .chunks = {proto.chunks().begin(), proto.chunks().end()}};
  INTERLUDE_ASSIGN_OR_RETURN(header.kind, UploadKindFromProto(proto.kind()));
  INTERLUDE_ASSIGN_OR_RETURN(header.codec, CodecFromProto(proto.codec()));
  if (header.kind == UploadKind::kBase && header.codec != Codec::kFp32) {
    return InvalidArgumentError("a base is uploaded as fp32, but the header's codec is {}",
                                static_cast<int>(proto.codec()));
  }
  return header;
}

v1::DownloadRequest ToProto(const DownloadOrder& order) {
  v1::DownloadRequest proto;
  proto.set_worker(order.worker);
  proto.set_session(order.session);
  proto.set_kind(order.kind == DownloadKind::kSync ? v1::DOWNLOAD_KIND_SYNC
                                                   : v1::DOWNLOAD_KIND_BASE);
  proto.set_round(order.round);
  proto.mutable_chunks()->Assign(order.chunks.begin(), order.chunks.end());
  return proto;
}

StatusOr<DownloadOrder> FromProto(const v1::DownloadRequest& proto) {
  INTERLUDE_RETURN_IF_ERROR(
      CheckRange("worker", proto.worker(), 0, std::numeric_limits<WorkerId>::max()));
  INTERLUDE_RETURN_IF_ERROR(
      CheckAtMost("the number of chunks", static_cast<uint64_t>(proto.chunks_size()), kMaxChunks));
  DownloadOrder order{.worker = proto.worker(), .session = proto.session(), .round = proto.round()};
  INTERLUDE_ASSIGN_OR_RETURN(order.kind, DownloadKindFromProto(proto.kind()));
  order.chunks.assign(proto.chunks().begin(), proto.chunks().end());
  return order;
}

v1::ChunkList ToProto(const std::vector<uint32_t>& chunks) {
  v1::ChunkList proto;
  proto.mutable_chunks()->Assign(chunks.begin(), chunks.end());
  return proto;
}

StatusOr<std::vector<uint32_t>> FromProto(const v1::ChunkList& proto) {
  INTERLUDE_RETURN_IF_ERROR(
      CheckAtMost("the number of chunks", static_cast<uint64_t>(proto.chunks_size()), kMaxChunks));
  return std::vector<uint32_t>(proto.chunks().begin(), proto.chunks().end());
}

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      CutForTrailers(status.message()));
}

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return OkStatus();
  const int code = status.error_code();
  const bool known = code > 0 && code <= static_cast<int>(StatusCode::kUnauthenticated);
  return Status(known ? static_cast<StatusCode>(code) : StatusCode::kUnknown,
                status.error_message());
}

}  // namespace interlude
