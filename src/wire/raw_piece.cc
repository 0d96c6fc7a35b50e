#include "wire/raw_piece.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace interlude {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr auto kBytes = WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
constexpr uint32_t kPieceTag =
    WireFormatLite::MakeTag(v1::UploadMessage::kPieceFieldNumber, kBytes);
constexpr uint32_t kPayloadTag = WireFormatLite::MakeTag(v1::Piece::kPayloadFieldNumber, kBytes);
constexpr size_t kTagBytes = 1;
static_assert(kPieceTag < 0x80 && kPayloadTag < 0x80, "both tags are one byte");

/// The fields before a payload must lie in so many bytes; ours take under 70. What is longer is
/// parsed as a whole.
constexpr size_t kMostFrontBytes = 512;

grpc::Slice LendOrCopy(std::span<const std::byte> payload, const PayloadOwner& owner) {
  if (owner == nullptr) return grpc::Slice(payload.data(), payload.size());
  // gRPC only reads; its interface is older than const.
  return grpc::Slice(
      const_cast<std::byte*>(payload.data()), payload.size(),
      [](void* kept) { delete static_cast<PayloadOwner*>(kept); }, new PayloadOwner(owner));
}

grpc::ByteBuffer Encode(const v1::Piece& fields, std::span<const std::byte> payload,
                        const PayloadOwner& owner, bool in_upload_message) {
  INTERLUDE_CHECK(fields.payload().empty(), "a piece's payload goes beside its fields");
  const auto payload_bytes = static_cast<uint32_t>(payload.size());
  const size_t fields_bytes = fields.ByteSizeLong();
  std::string front;
  {
    google::protobuf::io::StringOutputStream sink(&front);
    CodedOutputStream out(&sink);
    if (in_upload_message) {
      const size_t payload_field =
          payload.empty()
              ? 0
              : kTagBytes + CodedOutputStream::VarintSize32(payload_bytes) + payload.size();
      out.WriteTag(kPieceTag);
      out.WriteVarint32(static_cast<uint32_t>(fields_bytes + payload_field));
    }
    fields.SerializeWithCachedSizes(&out);
    if (!payload.empty()) {
      out.WriteTag(kPayloadTag);
      out.WriteVarint32(payload_bytes);
    }
  }
  std::array<grpc::Slice, 2> slices = {grpc::Slice(front), grpc::Slice()};
  if (payload.empty()) return grpc::ByteBuffer(slices.data(), 1);
  slices[1] = LendOrCopy(payload, owner);
  return grpc::ByteBuffer(slices.data(), slices.size());
}

/// Where in a message what lies.
struct Cut {
  size_t fields_begin = 0;
  size_t fields_end = 0;
  size_t payload_begin = 0;  // it ends where the message ends
};

/// A length that is written as short as it can be, or nothing.
std::optional<size_t> ReadLength(CodedInputStream& in) {
  const int begin = in.CurrentPosition();
  int length = 0;
  if (!in.ReadVarintSizeAsInt(&length)) return std::nullopt;
  const auto shortest = CodedOutputStream::VarintSize32(static_cast<uint32_t>(length));
  if (static_cast<size_t>(in.CurrentPosition() - begin) != shortest) return std::nullopt;
  return static_cast<size_t>(length);
}

/// Finds the payload of a message of `total` bytes that begins with `front`. Nothing unless all is
/// as our own encoder writes it, up to unknown and repeated fields before the payload.
std::optional<Cut> FindPayload(std::string_view front, size_t total, bool in_upload_message) {
  CodedInputStream in(reinterpret_cast<const uint8_t*>(front.data()),
                      static_cast<int>(front.size()));
  const auto position = [&in] { return static_cast<size_t>(in.CurrentPosition()); };
  if (in_upload_message) {
    if (in.ReadTag() != kPieceTag || position() != kTagBytes) return std::nullopt;
    const std::optional<size_t> piece_bytes = ReadLength(in);
    if (!piece_bytes.has_value() || position() + *piece_bytes != total) return std::nullopt;
  }
  Cut cut{.fields_begin = position()};
  for (;;) {
    cut.fields_end = position();
    const uint32_t tag = in.ReadTag();
    if (tag == kPayloadTag) break;
    if (tag == 0 || !WireFormatLite::SkipField(&in, tag)) return std::nullopt;
  }
  if (position() != cut.fields_end + kTagBytes) return std::nullopt;
  const std::optional<size_t> payload_bytes = ReadLength(in);
  cut.payload_begin = position();
  if (!payload_bytes.has_value() || cut.payload_begin + *payload_bytes != total) {
    return std::nullopt;
  }
  return cut;
}

std::span<const std::byte> BytesOf(const grpc::Slice& slice) {
  return std::as_bytes(std::span(slice.begin(), slice.size()));
}

}  // namespace

void CopySpans(ByteSpans from, std::byte* to) {
  for (const std::span<const std::byte> bytes : from) {
    to = std::copy(bytes.begin(), bytes.end(), to);
  }
}

grpc::ByteBuffer EncodePiece(const v1::Piece& fields, std::span<const std::byte> payload,
                             const PayloadOwner& owner) {
  return Encode(fields, payload, owner, false);
}

grpc::ByteBuffer EncodeUploadPiece(const v1::Piece& fields, std::span<const std::byte> payload,
                                   const PayloadOwner& owner) {
  return Encode(fields, payload, owner, true);
}

grpc::ByteBuffer EncodeMessage(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

Status ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message) {
  grpc::ByteBuffer reference = bytes;
  message.Clear();
  if (reference.Length() == 0) return OkStatus();
  grpc::ProtoBufferReader reader(&reference);
  if (message.ParseFromZeroCopyStream(&reader) && reader.status().ok()) return OkStatus();
  return DataLossError(
      "{} bytes that came are not a valid {}: damaged on the way, or the other side speaks another "
      "protocol",
      bytes.Length(), message.GetTypeName());
}

RawPiece::RawPiece(v1::Piece piece) : copied_(piece.release_payload()) {
  fields_ = std::move(piece);
  if (copied_ != nullptr && !copied_->empty()) payload_ = {std::as_bytes(std::span(*copied_))};
}

size_t RawPiece::payload_bytes() const {
  size_t bytes = 0;
  for (const auto& span : payload_) bytes += span.size();
  return bytes;
}

bool RawPiece::ParseAround(const grpc::ByteBuffer& message, Kind kind) {
  if (message.Length() == 0 || !message.Dump(&slices_).ok()) return false;
  size_t total = 0;
  std::array<char, kMostFrontBytes> front;
  size_t front_bytes = 0;
  for (const grpc::Slice& slice : slices_) {
    const size_t taken = std::min(slice.size(), front.size() - front_bytes);
    std::memcpy(front.data() + front_bytes, slice.begin(), taken);
    front_bytes += taken;
    total += slice.size();
  }
  const std::optional<Cut> cut =
      FindPayload({front.data(), front_bytes}, total, kind == Kind::kUpload);
  if (!cut.has_value()) return false;
  if (!fields_.ParseFromArray(front.data() + cut->fields_begin,
                              static_cast<int>(cut->fields_end - cut->fields_begin))) {
    return false;
  }
  size_t skip = cut->payload_begin;
  payload_.reserve(slices_.size());
  for (const grpc::Slice& slice : slices_) {
    const size_t skipped = std::min(skip, slice.size());
    skip -= skipped;
    if (skipped < slice.size()) payload_.push_back(BytesOf(slice).subspan(skipped));
  }
  return true;
}

StatusOr<RawPiece> RawPiece::Parse(const grpc::ByteBuffer& message) {
  RawPiece piece;
  if (piece.ParseAround(message, Kind::kPiece)) return piece;
  v1::Piece whole;
  INTERLUDE_RETURN_IF_ERROR(ParseMessage(message, whole));
  return RawPiece(std::move(whole));
}

StatusOr<RawPiece> RawPiece::ParseUpload(const grpc::ByteBuffer& message) {
  RawPiece piece;
  if (piece.ParseAround(message, Kind::kUpload)) return piece;
  v1::UploadMessage whole;
  INTERLUDE_RETURN_IF_ERROR(ParseMessage(message, whole));
  if (!whole.has_piece()) return InvalidArgumentError("after the header an upload has pieces only");
  return RawPiece(std::move(*whole.mutable_piece()));
}

}  // namespace interlude
