// Generated protobuf messages <-> plain structs (wire/messages.h). What comes from the network is
// bounded and checked here, before memory is taken for it: counts, text lengths, enum values,
// finite numbers.
#pragma once

#include <grpcpp/support/status.h>

#include <vector>

#include "base/status.h"
#include "interlude.grpc.pb.h"
#include "interlude.pb.h"
#include "wire/messages.h"

namespace interlude {

/// Bounds on what one message may carry; beyond them InvalidArgument names field, count and limit.
inline constexpr int kMaxSpansPerMessage = 4096;
inline constexpr int kMaxSamplesPerMessage = 16384;  // and memory records, and clock probes
inline constexpr size_t kMaxOwnerBytes = 64;         // the name of an owner of memory
inline constexpr size_t kMaxTextBytes =
    1024;  // host, software, reasons; longer ones are cut when sent
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;
inline constexpr uint64_t kMaxSamples = uint64_t{1}
                                        << 48;  // sums over all rounds and workers cannot wrap
inline constexpr uint32_t kMaxWorkers = 1u << 16;
/// The most bytes gRPC accepts as one message, either way.
inline constexpr int kMaxMessageBytes = 32 << 20;

v1::WorkerMessage ToProto(const WorkerMessage& message);
StatusOr<WorkerMessage> FromProto(const v1::WorkerMessage& message);

v1::CoordinatorMessage ToProto(const CoordinatorMessage& message);
StatusOr<CoordinatorMessage> FromProto(const v1::CoordinatorMessage& message);

v1::UploadHeader ToProto(const UploadHeader& header);
StatusOr<UploadHeader> FromProto(const v1::UploadHeader& header);

v1::DownloadRequest ToProto(const DownloadOrder& order);
StatusOr<DownloadOrder> FromProto(const v1::DownloadRequest& request);

v1::ChunkList ToProto(const std::vector<uint32_t>& chunks);
StatusOr<std::vector<uint32_t>> FromProto(const v1::ChunkList& chunks);

v1::Hash ToProto(const Hash128& hash);
Hash128 FromProto(const v1::Hash& hash);

/// Among a Session's trailing metadata: its end is the coordinator's own word, and no broken line.
inline constexpr char kOwnWord[] = "interlude-own-word";

/// Codes are equal by number; messages pass unchanged (cut to what fits in gRPC's trailers).
grpc::Status ToGrpc(const Status& status);
Status FromGrpc(const grpc::Status& status);

}  // namespace interlude
