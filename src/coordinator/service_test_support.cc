#include "coordinator/service_test_support.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace interlude {

Layout TestLayout() {
  return Layout::Create(
             {{.name = "first.weight", .shape = {10, 30}}, {.name = "last.bias", .shape = {200}}},
             256)
      .value();
}

std::string TestDirectory(const std::string& name) {
  return testing::TempDir() + "/interlude-service-" + name + "-" + std::to_string(::getpid());
}

CoordinatorOptions TestOptions(const std::string& name, uint32_t workers) {
  CoordinatorOptions options;
  options.config.round.chunk_params = 256;
  options.config.round.rounds = 5;
  options.workers = workers;
  options.threads = 1;
  options.directory = TestDirectory(name);
  std::filesystem::remove_all(options.directory);
  return options;
}

std::unique_ptr<Coordinator> StartTestCoordinator(const std::string& name, uint32_t workers) {
  return Coordinator::Start(TestOptions(name, workers), SystemClock(), nullptr).value();
}

std::vector<std::vector<std::byte>> EncodeTestDelta(float value) {
  Hash128 hash;
  std::vector<std::vector<std::byte>> payloads;
  const Layout layout = TestLayout();
  for (uint32_t c = 0; c < layout.num_chunks(); ++c) {
    const size_t count = layout.chunk(c).count;
    payloads.emplace_back(EncodedBytes(Codec::kQ4, count));
    EncodeDelta(Codec::kQ4, std::vector<float>(count, value), std::vector<float>(count), {},
                payloads.back(), hash);
  }
  return payloads;
}

std::vector<v1::Piece> PiecesOf(const std::vector<std::vector<std::byte>>& payloads) {
  std::vector<v1::Piece> pieces;
  for (uint32_t c = 0; c < payloads.size(); ++c) {
    SendChunk(c, payloads[c], ChunkHashes{HashBytes(payloads[c]), {}},
              [&](v1::Piece& piece, auto bytes) {
                piece.set_payload(bytes.data(), bytes.size());
                pieces.push_back(piece);
                return true;
              });
  }
  return pieces;
}

namespace {

std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);  // the limit under test is the coordinator's
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

TestConnection::TestConnection(const std::string& address)
    : channel_(OpenChannel(address)), stub_(v1::Coordinator::NewStub(channel_)) {}

Status TestConnection::Upload(const UploadHeader& header,
                              const std::vector<v1::Piece>& pieces) const {
  grpc::ClientContext context;
  v1::UploadReceipt receipt;
  auto writer = stub_->Upload(&context, &receipt);
  v1::UploadMessage message;
  *message.mutable_header() = ToProto(header);
  bool open = writer->Write(message);
  for (size_t i = 0; open && i < pieces.size(); ++i) {
    *message.mutable_piece() = pieces[i];
    open = writer->Write(message);
  }
  writer->WritesDone();
  return FromGrpc(writer->Finish());
}

Status TestConnection::Download(const DownloadOrder& order, std::vector<float>* values) const {
  grpc::ClientContext context;
  auto reader = stub_->Download(&context, ToProto(order));
  v1::Piece piece;
  std::string bytes;
  while (reader->Read(&piece)) bytes += piece.payload();
  if (values != nullptr) {
    values->resize(bytes.size() / sizeof(float));
    std::memcpy(values->data(), bytes.data(), values->size() * sizeof(float));
  }
  return FromGrpc(reader->Finish());
}

TestSession::TestSession(const TestConnection& connection)
    : connection_(connection), stream_(connection.stub().Session(&context_)) {}

TestSession::~TestSession() { context_.TryCancel(); }

void TestSession::Say(const WorkerMessage& message) {
  EXPECT_TRUE(stream_->Write(ToProto(message)));
}

void TestSession::Join() {
  Say(JoinMessage{.software = "a test", .host = "here"});
  welcome_ = Expect<WelcomeMessage>();
}

void TestSession::Resume(const TestSession& before) {
  Say(JoinMessage{.software = "a test",
                  .host = "here",
                  .requested_worker = before.welcome_.worker,
                  .session = before.welcome_.session});
  welcome_ = Expect<WelcomeMessage>();
  EXPECT_TRUE(welcome_.resumed);
}

void TestSession::Offer(const Layout& layout, std::vector<Hash128> chunk_hashes) {
  chunk_hashes.resize(layout.num_chunks());
  Say(BaseOfferMessage{layout, std::move(chunk_hashes), {}});
}

Status TestSession::UploadBase(const std::vector<float>& base) {
  UploadHeader header = DeltaHeader(0);
  header.kind = UploadKind::kBase;
  header.codec = Codec::kFp32;
  const Layout layout = TestLayout();
  std::vector<std::vector<std::byte>> payloads;
  for (uint32_t c = 0; c < layout.num_chunks(); ++c) {
    const ChunkRange range = layout.chunk(c);
    const auto bytes = std::as_bytes(std::span(base).subspan(range.begin, range.count));
    payloads.emplace_back(bytes.begin(), bytes.end());
  }
  return connection_.Upload(header, PiecesOf(payloads));
}

Status TestSession::End() {
  v1::CoordinatorMessage message;
  while (stream_->Read(&message)) {
  }
  return FromGrpc(stream_->Finish());
}

UploadHeader TestSession::DeltaHeader(uint32_t round) const {
  return {.worker = welcome_.worker,
          .session = welcome_.session,
          .kind = UploadKind::kDelta,
          .round = round,
          .codec = Codec::kQ4,
          .samples = 10};
}

}  // namespace interlude
