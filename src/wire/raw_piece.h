// Pieces as gRPC carries them: a few bytes of fields, then the payload as it lies in memory. The
// bytes are those of the schema's Piece (and UploadMessage), so that any protobuf implementation
// can be at the other end; only the copy into and out of a message's string is left out.
//
// Not the checks of what a piece may say: protocol/piece_sequence.h and wire/chunk_stream.h.
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "interlude.pb.h"

namespace interlude {

/// Bytes that belong one after the other.
using ByteSpans = std::span<const std::span<const std::byte>>;

/// Copies all of `from`, one after the other, to where `to` begins. The caller has checked the
/// room.
void CopySpans(ByteSpans from, std::byte* to);

/// What keeps a payload's memory alive while gRPC may read it. That is longer than Write: bytes
/// that passed flow control, or whose call was cancelled, may still wait for their socket. The
/// payload stays unchanged for as long as the other side would accept it: what is left of a
/// cancelled call may change, and counts nowhere.
using PayloadOwner = std::shared_ptr<const void>;

/// A Piece, or an UploadMessage with one: `fields` (whose own payload is empty) and `payload`,
/// which is not copied; without an owner it is.
grpc::ByteBuffer EncodePiece(const v1::Piece& fields, std::span<const std::byte> payload,
                             const PayloadOwner& owner);
grpc::ByteBuffer EncodeUploadPiece(const v1::Piece& fields, std::span<const std::byte> payload,
                                   const PayloadOwner& owner);

/// Any other message of a bulk stream, and back. DataLoss when the bytes are not such a message.
grpc::ByteBuffer EncodeMessage(const google::protobuf::MessageLite& message);
Status ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message);

/// A piece that came, its payload where gRPC put it. Whatever protobuf's own parser accepts is
/// accepted and means the same; where the payload is not the last field, it is copied. Move only.
class RawPiece {
 public:
  /// A Piece. DataLoss when the bytes are none.
  static StatusOr<RawPiece> Parse(const grpc::ByteBuffer& message);
  /// An UploadMessage. DataLoss when the bytes are none, InvalidArgument when it has no piece.
  static StatusOr<RawPiece> ParseUpload(const grpc::ByteBuffer& message);
  /// A piece made by other means.
  explicit RawPiece(v1::Piece piece);

  /// Everything but the payload.
  const v1::Piece& fields() const { return fields_; }
  /// Valid as long as this is.
  ByteSpans payload() const { return payload_; }
  size_t payload_bytes() const;

 private:
  enum class Kind { kPiece, kUpload };
  RawPiece() = default;
  /// False, with nothing changed that matters, where the message is to be parsed as a whole.
  bool ParseAround(const grpc::ByteBuffer& message, Kind kind);

  v1::Piece fields_;
  std::vector<grpc::Slice> slices_;      // hold the payload, or
  std::unique_ptr<std::string> copied_;  // this does
  std::vector<std::span<const std::byte>> payload_;
};

}  // namespace interlude
