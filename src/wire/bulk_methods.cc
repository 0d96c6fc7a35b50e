#include "wire/bulk_methods.h"

#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/method_handler.h>

// Without its messages' types the generated code would do: this is what it does, with ByteBuffer,
// gRPC's own type for bytes as they are, in the place of UploadMessage and Piece.

namespace interlude {
namespace {

using grpc::internal::RpcMethod;

// A test calls each through the generated stub.
constexpr char kSession[] = "/interlude.v1.Coordinator/Session";
constexpr char kUpload[] = "/interlude.v1.Coordinator/Upload";
constexpr char kMissingChunks[] = "/interlude.v1.Coordinator/MissingChunks";
constexpr char kDownload[] = "/interlude.v1.Coordinator/Download";
constexpr char kProbeClock[] = "/interlude.v1.Coordinator/ProbeClock";
constexpr char kMeasureLink[] = "/interlude.v1.Coordinator/MeasureLink";

}  // namespace

RawCoordinatorService::RawCoordinatorService() {
  using Self = RawCoordinatorService;
  AddMethod(new grpc::internal::RpcServiceMethod(
      kSession, RpcMethod::BIDI_STREAMING,
      new grpc::internal::BidiStreamingHandler<Self, v1::WorkerMessage, v1::CoordinatorMessage>(
          [](Self* self, grpc::ServerContext* context, SessionStream* stream) {
            return self->Session(context, stream);
          },
          this)));
  AddMethod(new grpc::internal::RpcServiceMethod(
      kUpload, RpcMethod::CLIENT_STREAMING,
      new grpc::internal::ClientStreamingHandler<Self, grpc::ByteBuffer, v1::UploadReceipt>(
          [](Self* self, grpc::ServerContext* context, UploadReader* reader,
             v1::UploadReceipt* receipt) { return self->Upload(context, reader, receipt); },
          this)));
  AddMethod(new grpc::internal::RpcServiceMethod(
      kMissingChunks, RpcMethod::NORMAL_RPC,
      new grpc::internal::RpcMethodHandler<Self, v1::UploadHeader, v1::ChunkList>(
          [](Self* self, grpc::ServerContext* context, const v1::UploadHeader* header,
             v1::ChunkList* missing) { return self->MissingChunks(context, header, missing); },
          this)));
  AddMethod(new grpc::internal::RpcServiceMethod(
      kDownload, RpcMethod::SERVER_STREAMING,
      new grpc::internal::ServerStreamingHandler<Self, v1::DownloadRequest, grpc::ByteBuffer>(
          [](Self* self, grpc::ServerContext* context, const v1::DownloadRequest* request,
             PieceWriter* writer) { return self->Download(context, request, writer); },
          this)));
  AddMethod(new grpc::internal::RpcServiceMethod(
      kProbeClock, RpcMethod::BIDI_STREAMING,
      new grpc::internal::BidiStreamingHandler<Self, v1::ClockProbeRequest, v1::ClockProbeReply>(
          [](Self* self, grpc::ServerContext* context, ClockStream* stream) {
            return self->ProbeClock(context, stream);
          },
          this)));
  AddMethod(new grpc::internal::RpcServiceMethod(
      kMeasureLink, RpcMethod::BIDI_STREAMING,
      new grpc::internal::BidiStreamingHandler<Self, v1::LinkRequest, v1::LinkReply>(
          [](Self* self, grpc::ServerContext* context, LinkStream* stream) {
            return self->MeasureLink(context, stream);
          },
          this)));
}

grpc::Status RawCoordinatorService::ProbeClock(grpc::ServerContext*, ClockStream*) {
  return {grpc::StatusCode::UNIMPLEMENTED, "this coordinator tells no time"};
}

grpc::Status RawCoordinatorService::MeasureLink(grpc::ServerContext*, LinkStream*) {
  return {grpc::StatusCode::UNIMPLEMENTED, "this coordinator measures no links"};
}

BulkStub::BulkStub(const std::shared_ptr<grpc::Channel>& channel)
    : channel_(channel),
      upload_(kUpload, RpcMethod::CLIENT_STREAMING, channel),
      missing_chunks_(kMissingChunks, RpcMethod::NORMAL_RPC, channel),
      download_(kDownload, RpcMethod::SERVER_STREAMING, channel) {}

std::unique_ptr<UploadWriter> BulkStub::Upload(grpc::ClientContext* context,
                                               v1::UploadReceipt* receipt) {
  return std::unique_ptr<UploadWriter>(
      grpc::internal::ClientWriterFactory<grpc::ByteBuffer>::Create(channel_.get(), upload_,
                                                                    context, receipt));
}

grpc::Status BulkStub::MissingChunks(grpc::ClientContext* context, const v1::UploadHeader& header,
                                     v1::ChunkList* missing) {
  return grpc::internal::BlockingUnaryCall<v1::UploadHeader, v1::ChunkList>(
      channel_.get(), missing_chunks_, context, header, missing);
}

std::unique_ptr<PieceReader> BulkStub::Download(grpc::ClientContext* context,
                                                const v1::DownloadRequest& request) {
  return std::unique_ptr<PieceReader>(grpc::internal::ClientReaderFactory<grpc::ByteBuffer>::Create(
      channel_.get(), download_, context, request));
}

}  // namespace interlude
