// Pieces as gRPC hands them over, cut into slices anywhere: RawPiece takes what protobuf's own
// parser takes, and nothing else. The first three bytes say where the cuts are.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "wire/raw_piece.h"

namespace interlude {
namespace {

grpc::ByteBuffer Cut(std::span<const uint8_t> bytes, std::span<const uint8_t> cuts) {
  std::vector<grpc::Slice> slices;
  for (const uint8_t cut : cuts) {
    const size_t taken = std::min<size_t>(cut, bytes.size());
    slices.emplace_back(bytes.data(), taken);
    bytes = bytes.subspan(taken);
  }
  slices.emplace_back(bytes.data(), bytes.size());
  return {slices.data(), slices.size()};
}

/// The piece in one message again, or an empty text for none.
std::string Whole(const StatusOr<RawPiece>& parsed) {
  if (!parsed.ok()) return "none";
  std::string payload(parsed->payload_bytes(), '\0');
  CopySpans(parsed->payload(), std::as_writable_bytes(std::span(payload)).data());
  v1::Piece piece = parsed->fields();
  INTERLUDE_CHECK(piece.payload().empty(), "a payload among the fields");
  piece.set_payload(payload);
  return "piece " + piece.SerializeAsString();
}

void Parse(std::span<const uint8_t> bytes, const grpc::ByteBuffer& message) {
  const int size = static_cast<int>(bytes.size());
  v1::Piece piece;
  const bool is_piece = piece.ParseFromArray(bytes.data(), size);
  INTERLUDE_CHECK(
      Whole(RawPiece::Parse(message)) == (is_piece ? "piece " + piece.SerializeAsString() : "none"),
      "read as {}", is_piece ? piece.ShortDebugString() : "no piece by protobuf");
  v1::UploadMessage upload;
  const bool is_upload = upload.ParseFromArray(bytes.data(), size) && upload.has_piece();
  INTERLUDE_CHECK(Whole(RawPiece::ParseUpload(message)) ==
                      (is_upload ? "piece " + upload.piece().SerializeAsString() : "none"),
                  "read as {}", is_upload ? upload.ShortDebugString() : "no piece by protobuf");
}

}  // namespace
}  // namespace interlude

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kCuts = 3;
  if (size < kCuts) return 0;
  const std::span<const uint8_t> input(data, size);
  const auto bytes = input.subspan(kCuts);
  interlude::Parse(bytes, interlude::Cut(bytes, input.first(kCuts)));
  return 0;
}
