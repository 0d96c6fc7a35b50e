// A worker's side of the wire without a worker, to say things that a right one never would. Tests
// only.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "coordinator/coordinator.h"
#include "wire/bulk_methods.h"
#include "wire/chunk_stream.h"
#include "wire/convert.h"

namespace interlude {

/// 500 parameters in two chunks, the last chunk and its last block short.
Layout TestLayout();
std::string TestDirectory(const std::string& name);
/// Empties the test's directory.
CoordinatorOptions TestOptions(const std::string& name, uint32_t workers);
std::unique_ptr<Coordinator> StartTestCoordinator(const std::string& name, uint32_t workers);

/// The q4 payloads of a delta that is `value` everywhere, chunk by chunk.
std::vector<std::vector<std::byte>> EncodeTestDelta(float value);
std::vector<v1::Piece> PiecesOf(const std::vector<std::vector<std::byte>>& payloads);

/// A channel and the two bulk calls.
class TestConnection {
 public:
  explicit TestConnection(const std::string& address);
  Status Upload(const UploadHeader& header, const std::vector<v1::Piece>& pieces) const;
  /// Reads all pieces; `values`, when given, gets their payloads one after the other as floats.
  Status Download(const DownloadOrder& order, std::vector<float>* values = nullptr) const;
  v1::Coordinator::Stub& stub() const { return *stub_; }
  /// The bulk calls with bytes as they are.
  BulkStub raw() const { return BulkStub(channel_); }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
};

/// One session stream.
class TestSession {
 public:
  explicit TestSession(const TestConnection& connection);
  ~TestSession();

  void Say(const WorkerMessage& message);
  /// Joins and reads the welcome.
  void Join();
  /// Goes on with that stay, as a worker whose connection broke.
  void Resume(const TestSession& before);
  /// Without hashes: those of no base.
  void Offer(const Layout& layout, std::vector<Hash128> chunk_hashes = {});
  Status UploadBase(const std::vector<float>& base);
  /// Reads one message, which must be of this kind.
  template <typename Message>
  Message Expect() {
    v1::CoordinatorMessage proto;
    if (!stream_->Read(&proto)) {
      ADD_FAILURE() << "the session ended";
      return {};
    }
    const CoordinatorMessage message = FromProto(proto).value();
    const Message* expected = std::get_if<Message>(&message);
    EXPECT_NE(expected, nullptr) << proto.DebugString();
    return expected != nullptr ? *expected : Message{};
  }
  /// As a worker that is gone. Any thread.
  void Cancel() { context_.TryCancel(); }
  /// Reads to the end and returns how the coordinator ended it.
  Status End();

  UploadHeader DeltaHeader(uint32_t round) const;
  uint64_t token() const { return welcome_.session; }

 private:
  const TestConnection& connection_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::CoordinatorMessage>> stream_;
  WelcomeMessage welcome_;
};

}  // namespace interlude
