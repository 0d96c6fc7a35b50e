// The gRPC handlers: they translate, check, move bulk data, and hand over to the round thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "coordinator/shared_state.h"
#include "wire/bulk_methods.h"

namespace interlude {

class CoordinatorService final : public RawCoordinatorService {
 public:
  /// `shared` outlives the service.
  explicit CoordinatorService(SharedState& shared) : shared_(shared) {}

  grpc::Status Session(grpc::ServerContext* context, SessionStream* stream) override;
  grpc::Status Upload(grpc::ServerContext* context, UploadReader* reader,
                      v1::UploadReceipt* receipt) override;
  grpc::Status MissingChunks(grpc::ServerContext* context, const v1::UploadHeader* header,
                             v1::ChunkList* missing) override;
  grpc::Status Download(grpc::ServerContext* context, const v1::DownloadRequest* request,
                        PieceWriter* writer) override;

 private:
  SharedState& shared_;
};

/// The running gRPC server on one address.
struct Server {
  std::unique_ptr<grpc::Server> server;
  std::string address;  // with the port that was really bound
};

/// Binds and serves. `pollers` bounds the threads that wait for new calls; each open stream has a
/// thread of its own. Unavailable when the address cannot be bound (in use, not ours, no
/// permission), saying what to do.
StatusOr<Server> StartServer(const std::string& listen, int pollers, grpc::Service& service);

}  // namespace interlude
