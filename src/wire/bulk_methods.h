// The schema's service with its two bulk streams as raw messages (wire/raw_piece.h), at both ends.
// Method names and all else are those of the generated code, which any other implementation may
// use at the other end.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>

#include "interlude.grpc.pb.h"

namespace interlude {

using ClockStream = grpc::ServerReaderWriter<v1::ClockProbeReply, v1::ClockProbeRequest>;
using LinkStream = grpc::ServerReaderWriter<v1::LinkReply, v1::LinkRequest>;
using SessionStream = grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::WorkerMessage>;
/// UploadMessages.
using UploadReader = grpc::ServerReader<grpc::ByteBuffer>;
using UploadWriter = grpc::ClientWriter<grpc::ByteBuffer>;
/// Pieces.
using PieceWriter = grpc::ServerWriter<grpc::ByteBuffer>;
using PieceReader = grpc::ClientReader<grpc::ByteBuffer>;

/// The coordinator's end. Each call runs on a thread of its own.
class RawCoordinatorService : public grpc::Service {
 public:
  RawCoordinatorService();

  virtual grpc::Status Session(grpc::ServerContext* context, SessionStream* stream) = 0;
  virtual grpc::Status Upload(grpc::ServerContext* context, UploadReader* reader,
                              v1::UploadReceipt* receipt) = 0;
  virtual grpc::Status MissingChunks(grpc::ServerContext* context, const v1::UploadHeader* header,
                                     v1::ChunkList* missing) = 0;
  virtual grpc::Status Download(grpc::ServerContext* context, const v1::DownloadRequest* request,
                                PieceWriter* writer) = 0;
  // Unimplemented unless overridden: a run goes on without them.
  virtual grpc::Status ProbeClock(grpc::ServerContext* context, ClockStream* stream);
  virtual grpc::Status MeasureLink(grpc::ServerContext* context, LinkStream* stream);
};

/// A worker's end of the bulk calls. Any thread.
class BulkStub {
 public:
  explicit BulkStub(const std::shared_ptr<grpc::Channel>& channel);

  std::unique_ptr<UploadWriter> Upload(grpc::ClientContext* context, v1::UploadReceipt* receipt);
  grpc::Status MissingChunks(grpc::ClientContext* context, const v1::UploadHeader& header,
                             v1::ChunkList* missing);
  std::unique_ptr<PieceReader> Download(grpc::ClientContext* context,
                                        const v1::DownloadRequest& request);

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const grpc::internal::RpcMethod upload_;
  const grpc::internal::RpcMethod missing_chunks_;
  const grpc::internal::RpcMethod download_;
};

}  // namespace interlude
