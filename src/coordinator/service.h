// The gRPC handlers: they translate, check, move bulk data, and hand over to the round thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "coordinator/call_limits.h"
#include "coordinator/shared_state.h"
#include "wire/bulk_methods.h"
#include "wire/transport_keys.h"

namespace interlude {

class CoordinatorService final : public RawCoordinatorService {
 public:
  /// `shared` and `keys` outlive the service. Null keys: workers are believed.
  CoordinatorService(SharedState& shared, uint32_t workers, const TransportKeys* keys)
      : shared_(shared),
        most_sessions_(workers + kSpareSessions),
        keys_(keys),
        deadlines_(shared.clock) {}

  grpc::Status Session(grpc::ServerContext* context, SessionStream* stream) override;
  grpc::Status Upload(grpc::ServerContext* context, UploadReader* reader,
                      v1::UploadReceipt* receipt) override;
  grpc::Status MissingChunks(grpc::ServerContext* context, const v1::UploadHeader* header,
                             v1::ChunkList* missing) override;
  grpc::Status Download(grpc::ServerContext* context, const v1::DownloadRequest* request,
                        PieceWriter* writer) override;
  grpc::Status ProbeClock(grpc::ServerContext* context, ClockStream* stream) override;
  grpc::Status MeasureLink(grpc::ServerContext* context, LinkStream* stream) override;

 private:
  /// With the id that the worker may have, when it asks for none.
  StatusOr<JoinMessage> ReadJoin(grpc::ServerContext& context, SessionStream& stream);
  /// What proves who a worker is: "certificate worker-3".
  std::string Proof(const grpc::ServerContext& context) const;
  Status HandleMeasureLink(grpc::ServerContext& context, LinkStream& stream);

  SharedState& shared_;
  const uint32_t most_sessions_;
  const TransportKeys* const keys_;
  CallDeadlines deadlines_;
  std::atomic<uint32_t> open_sessions_ = 0;
  std::atomic<uint32_t> link_measurements_ = 0;
};

/// The running gRPC server on one address.
struct Server {
  std::unique_ptr<grpc::Server> server;
  std::string address;  // with the port that was really bound
};

struct ServingOptions {
  std::string listen;  // HOST:PORT
  int pollers = 1;     // threads that wait for new calls; each open call has one of its own
  uint32_t workers = 1;
  const TransportKeys* keys = nullptr;  // null: plain text
};

/// Binds and serves. Unavailable when the address cannot be bound (in use, not ours, no
/// permission), saying what to do.
StatusOr<Server> StartServer(const ServingOptions& options, grpc::Service& service);

}  // namespace interlude
