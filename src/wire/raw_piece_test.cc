#include "wire/raw_piece.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/rng.h"

namespace interlude {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

std::string RandomText(Rng& rng, size_t bytes) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(rng() >> 56);
  return text;
}

v1::Piece RandomFields(Rng& rng) {
  v1::Piece fields;
  const auto some = [&rng] { return rng() >> (rng() % 64); };  // of any length
  if (rng() % 4 != 0) fields.set_chunk(static_cast<uint32_t>(some()));
  if (rng() % 4 != 0) fields.set_offset(some());
  if (rng() % 2 != 0) fields.mutable_payload_hash()->set_high(rng());
  if (rng() % 2 != 0) fields.mutable_payload_hash()->set_low(rng());
  if (rng() % 2 != 0) fields.mutable_base_hash()->set_low(rng());
  return fields;
}

std::string RandomPayload(Rng& rng) {
  const size_t sizes[] = {0, 1, 127, 128, 1000, 16383, 16384, 70000};
  return RandomText(rng, sizes[rng() % std::size(sizes)]);
}

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string Flatten(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) text.append(slice.begin(), slice.end());
  return text;
}

/// The bytes in slices of random length, as a socket might give them.
grpc::ByteBuffer Shred(Rng& rng, std::string_view text) {
  std::vector<grpc::Slice> slices;
  const size_t most = 1 + rng() % 20000;
  while (!text.empty()) {
    const size_t bytes = std::min<size_t>(text.size(), 1 + rng() % most);
    slices.emplace_back(text.data(), bytes);
    text.remove_prefix(bytes);
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

/// The message that a piece stands for.
v1::Piece Whole(const RawPiece& piece) {
  v1::Piece whole = piece.fields();
  EXPECT_TRUE(whole.payload().empty());
  std::string payload(piece.payload_bytes(), '\0');
  CopySpans(piece.payload(), reinterpret_cast<std::byte*>(payload.data()));
  whole.set_payload(std::move(payload));
  return whole;
}

/// Both parsers on bytes that may be anything: they agree on whether it is a message and which.
void ExpectSameAsProtobuf(Rng& rng, const std::string& text) {
  v1::Piece piece;
  const bool is_piece = piece.ParseFromString(text);
  const StatusOr<RawPiece> raw = RawPiece::Parse(Shred(rng, text));
  ASSERT_EQ(raw.ok(), is_piece) << raw.status().ToString();
  if (is_piece) {
    EXPECT_TRUE(MessageDifferencer::Equals(Whole(*raw), piece));
  } else {
    EXPECT_EQ(raw.status().code(), StatusCode::kDataLoss);
  }

  v1::UploadMessage upload;
  const bool has_piece = upload.ParseFromString(text) && upload.has_piece();
  const StatusOr<RawPiece> raw_upload = RawPiece::ParseUpload(Shred(rng, text));
  ASSERT_EQ(raw_upload.ok(), has_piece) << raw_upload.status().ToString();
  if (has_piece) {
    EXPECT_TRUE(MessageDifferencer::Equals(Whole(*raw_upload), upload.piece()));
  }
}

TEST(RawPiece, ProtobufReadsWhatIsEncodedAndWritesTheSameBytes) {
  Rng rng(1);
  for (int i = 0; i < 500; ++i) {
    const v1::Piece fields = RandomFields(rng);
    const std::string payload = RandomPayload(rng);
    v1::Piece piece = fields;
    piece.set_payload(payload);
    v1::UploadMessage upload;
    *upload.mutable_piece() = piece;
    EXPECT_EQ(Flatten(EncodePiece(fields, BytesOf(payload), nullptr)), piece.SerializeAsString());
    EXPECT_EQ(Flatten(EncodeUploadPiece(fields, BytesOf(payload), nullptr)),
              upload.SerializeAsString());
  }
}

TEST(RawPiece, ReadsWhatProtobufWritesHoweverItIsSliced) {
  Rng rng(2);
  for (int i = 0; i < 500; ++i) {
    v1::Piece piece = RandomFields(rng);
    piece.set_payload(RandomPayload(rng));
    v1::UploadMessage upload;
    *upload.mutable_piece() = piece;
    const RawPiece plain = RawPiece::Parse(Shred(rng, piece.SerializeAsString())).value();
    EXPECT_TRUE(MessageDifferencer::Equals(Whole(plain), piece));
    const RawPiece wrapped = RawPiece::ParseUpload(Shred(rng, upload.SerializeAsString())).value();
    EXPECT_TRUE(MessageDifferencer::Equals(Whole(wrapped), piece));
  }
}

TEST(RawPiece, AgreesWithProtobufOnDamagedMessages) {
  Rng rng(3);
  for (int i = 0; i < 4000; ++i) {
    v1::Piece piece = RandomFields(rng);
    piece.set_payload(RandomText(rng, rng() % 200));
    v1::UploadMessage upload;
    *upload.mutable_piece() = piece;
    std::string text = rng() % 2 != 0 ? piece.SerializeAsString() : upload.SerializeAsString();
    if (text.empty()) continue;
    for (uint64_t flips = 1 + rng() % 3; flips > 0; --flips) {
      text[rng() % std::min<size_t>(text.size(), 80)] ^= static_cast<char>(1u << (rng() % 8));
    }
    ExpectSameAsProtobuf(rng, text);
  }
}

TEST(RawPiece, AgreesWithProtobufOnEveryTruncation) {
  Rng rng(4);
  v1::Piece piece = RandomFields(rng);
  piece.mutable_payload_hash()->set_high(7);
  piece.set_payload(RandomText(rng, 150));
  v1::UploadMessage upload;
  *upload.mutable_piece() = piece;
  for (const std::string& text : {piece.SerializeAsString(), upload.SerializeAsString()}) {
    for (size_t bytes = 0; bytes <= text.size(); ++bytes) {
      ExpectSameAsProtobuf(rng, text.substr(0, bytes));
    }
  }
}

TEST(RawPiece, AgreesWithProtobufOnRandomBytes) {
  Rng rng(5);
  for (int i = 0; i < 4000; ++i) ExpectSameAsProtobuf(rng, RandomText(rng, rng() % 24));
}

/// Valid, but not as our own encoder writes it.
TEST(RawPiece, UnusualMessagesMeanWhatProtobufSays) {
  Rng rng(6);
  v1::Piece first;
  first.set_chunk(3);
  first.set_payload("abc");
  v1::Piece second;
  second.set_offset(9);
  second.set_payload("defg");
  const std::string a = first.SerializeAsString();
  const std::string b = second.SerializeAsString();
  const std::string unknown("\xfa\x07\x02hi", 5);  // field 127
  const std::string group("\x5b\x08\x01\x5c", 4);  // field 11
  std::string overlong = a;
  overlong.replace(overlong.size() - 4, 1, std::string("\x83\x80\x00", 3));  // a length of 3
  const std::string long_unknown = std::string("\xfa\x07\x80\x08", 4) + std::string(1024, 'x');
  for (const std::string& text :
       {a + b, unknown + a, a + unknown, group + a, a + group, b + unknown + b, overlong,
        long_unknown + a, first.SerializeAsString() + std::string("\x08\x05", 2)}) {
    v1::Piece parsed;
    ASSERT_TRUE(parsed.ParseFromString(text));
    ExpectSameAsProtobuf(rng, text);
    const auto wrapped = [](std::string_view piece) {
      std::string upload(1, '\x12');
      for (size_t length = piece.size();; length >>= 7) {
        upload += static_cast<char>((length & 0x7f) | (length > 0x7f ? 0x80 : 0));
        if (length <= 0x7f) break;
      }
      return upload.append(piece);
    };
    ExpectSameAsProtobuf(rng, wrapped(text));
    ExpectSameAsProtobuf(rng, wrapped(text) + wrapped(a));
    ExpectSameAsProtobuf(rng, wrapped(text) + unknown);
    ExpectSameAsProtobuf(rng, unknown + wrapped(text));
    ExpectSameAsProtobuf(rng, std::string("\x0a\x00", 2) + wrapped(text));  // a header before
    ExpectSameAsProtobuf(rng, wrapped(text) + std::string("\x0a\x00", 2));  // a header after
  }
}

TEST(RawPiece, AnUploadMessageWithoutAPieceIsRefused) {
  v1::UploadMessage message;
  message.mutable_header()->set_worker(1);
  const Status status = RawPiece::ParseUpload(EncodeMessage(message)).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("pieces only"));
  EXPECT_EQ(RawPiece::ParseUpload(grpc::ByteBuffer()).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(RawPiece, BytesThatAreNoMessageSaySo) {
  const grpc::Slice slice(std::string("\xff\xff\xff", 3));
  const Status status = RawPiece::Parse(grpc::ByteBuffer(&slice, 1)).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("3 bytes that came are not a valid interlude.v1.Piece"));
}

TEST(RawPiece, ThePayloadIsNotCopiedOnEitherWay) {
  const auto payload = std::make_shared<std::string>(100'000, 'x');
  v1::Piece fields;
  fields.set_chunk(1);
  const grpc::ByteBuffer sent = EncodeUploadPiece(fields, BytesOf(*payload), payload);
  const RawPiece came = RawPiece::ParseUpload(sent).value();
  ASSERT_EQ(came.payload().size(), 1u);
  EXPECT_EQ(came.payload()[0].data(), BytesOf(*payload).data());
}

TEST(RawPiece, ThePayloadsOwnerLivesAsLongAsTheMessage) {
  auto payload = std::make_shared<std::string>(100, 'x');
  const std::weak_ptr<std::string> watch = payload;
  {
    const grpc::ByteBuffer message = EncodePiece({}, BytesOf(*payload), payload);
    payload.reset();
    const grpc::ByteBuffer another = message;
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(RawPiece, WithoutAnOwnerThePayloadIsCopied) {
  std::string payload(100, 'x');
  const grpc::ByteBuffer message = EncodePiece({}, BytesOf(payload), nullptr);
  payload.assign(100, 'y');
  EXPECT_EQ(Flatten(message).substr(2), std::string(100, 'x'));
}

}  // namespace
}  // namespace interlude
