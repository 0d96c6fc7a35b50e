#include "bench/transport_benches.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "base/memory_account.h"
#include "base/rng.h"
#include "bench/raw_tcp.h"
#include "coordinator/service.h"
#include "store/journal.h"
#include "wire/chunk_stream.h"
#include "worker/channels.h"
#include "worker/chunk_download.h"
#include "worker/uploader.h"

namespace interlude {
namespace {

using Seconds = TransportBench::Seconds;

/// What is sent and where it is put.
struct Load {
  explicit Load(const TransportBenchOptions& options)
      : chunk_bytes(std::max<size_t>(1, options.bytes / options.chunk_bytes), options.chunk_bytes),
        from(std::make_shared<Buffer>("bench: sent", chunk_bytes.size() * options.chunk_bytes)),
        to("bench: received", from->size()) {
    Rng rng(1);
    const std::span<std::byte> bytes = from->bytes();
    for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
      const uint64_t value = rng();
      std::memcpy(bytes.data() + at, &value, std::min(sizeof(value), bytes.size() - at));
    }
    for (uint32_t chunk = 0; chunk < chunks(); ++chunk) hashes.push_back(HashBytes(Sent(chunk)));
  }

  uint32_t chunks() const { return static_cast<uint32_t>(chunk_bytes.size()); }
  std::span<const std::byte> Sent(uint32_t chunk) const {
    return std::as_const(*from).bytes().subspan(chunk * chunk_bytes[0], chunk_bytes[0]);
  }
  std::span<std::byte> Received(uint32_t chunk) {
    return to.bytes().subspan(chunk * chunk_bytes[0], chunk_bytes[0]);
  }

  const std::vector<size_t> chunk_bytes;
  const std::shared_ptr<Buffer> from;
  Buffer to;
  std::vector<Hash128> hashes;
};

/// The coordinator's end: what its handlers do with the bytes, without rounds and sessions.
class BenchService final : public RawCoordinatorService {
 public:
  BenchService(Load& load, Journal& journal) : load_(load), journal_(journal) {}

  Status BeginPass(UploadTo to) {
    to_ = to;
    return to == UploadTo::kJournal ? journal_.BeginRound(++round_) : OkStatus();
  }

  grpc::Status Session(grpc::ServerContext*, SessionStream*) override {
    return ToGrpc(UnimplementedError("the benchmark has no sessions"));
  }
  grpc::Status Upload(grpc::ServerContext*, UploadReader* reader, v1::UploadReceipt*) override {
    return ToGrpc(Receive(*reader));
  }
  grpc::Status MissingChunks(grpc::ServerContext*, const v1::UploadHeader*,
                             v1::ChunkList*) override {
    return {grpc::StatusCode::UNIMPLEMENTED, "nothing is sent again here"};
  }
  grpc::Status Download(grpc::ServerContext*, const v1::DownloadRequest*,
                        PieceWriter* writer) override {
    for (uint32_t chunk = 0; chunk < load_.chunks(); ++chunk) {
      const bool sent = SendChunk(chunk, load_.Sent(chunk), {.payload = load_.hashes[chunk]},
                                  [&](const v1::Piece& fields, std::span<const std::byte> payload) {
                                    return writer->Write(EncodePiece(fields, payload, load_.from));
                                  });
      if (!sent) return ToGrpc(UnavailableError("the download was closed"));
    }
    return grpc::Status::OK;
  }

 private:
  Status Store(uint32_t chunk, uint64_t offset, ByteSpans bytes) {
    if (to_ == UploadTo::kMemory) CopySpans(bytes, load_.Received(chunk).data() + offset);
    if (to_ != UploadTo::kJournal) return OkStatus();
    for (const std::span<const std::byte> part : bytes) {
      INTERLUDE_RETURN_IF_ERROR(journal_.Write(round_, 0, chunk, offset, part));
      offset += part.size();
    }
    return OkStatus();
  }

  Status Receive(UploadReader& reader) {
    grpc::ByteBuffer message;
    if (!reader.Read(&message)) return CancelledError("no header came");
    ChunkReceiver receiver(
        load_.chunk_bytes, {},
        [this](uint32_t chunk, uint64_t offset, ByteSpans b) { return Store(chunk, offset, b); });
    while (!receiver.complete() && reader.Read(&message)) {
      INTERLUDE_ASSIGN_OR_RETURN(const RawPiece piece, RawPiece::ParseUpload(message));
      INTERLUDE_ASSIGN_OR_RETURN(const auto completed, receiver.Accept(piece));
      if (!completed.has_value() || to_ != UploadTo::kJournal) continue;
      INTERLUDE_RETURN_IF_ERROR(
          journal_.Seal(round_, 0, completed->chunk, completed->hashes.payload));
    }
    return receiver.complete() ? OkStatus() : InternalError("the upload ended early");
  }

  Load& load_;
  Journal& journal_;
  UploadTo to_ = UploadTo::kNothing;
  uint32_t round_ = 0;
};

class LoopbackBench final : public TransportBench {
 public:
  LoopbackBench(const TransportBenchOptions& options, std::unique_ptr<Journal> journal)
      : load_(options), journal_(std::move(journal)), service_(load_, *journal_) {}
  ~LoopbackBench() override {
    if (server_.server != nullptr) server_.server->Shutdown(std::chrono::system_clock::now());
  }

  Status Start() {
    INTERLUDE_ASSIGN_OR_RETURN(
        server_, StartServer({.listen = "127.0.0.1:0", .pollers = 1, .workers = 1, .keys = nullptr},
                             service_));
    INTERLUDE_ASSIGN_OR_RETURN(channels_, Connect(server_.address, nullptr,
                                                  std::chrono::seconds(20), [] { return false; }));
    stub_ = std::make_unique<BulkStub>(channels_.bulk);
    return OkStatus();
  }

  uint64_t bytes() const override { return load_.from->size(); }
  StatusOr<Seconds> RawTcp() override { return TimeRawTcp(load_.from->bytes(), load_.to.bytes()); }
  StatusOr<Seconds> Upload(UploadTo to) override;
  StatusOr<Seconds> Download() override;

 private:
  Load load_;
  const std::unique_ptr<Journal> journal_;
  BenchService service_;
  Server server_;
  Channels channels_;
  std::unique_ptr<BulkStub> stub_;
};

StatusOr<Seconds> LoopbackBench::Upload(UploadTo to) {
  INTERLUDE_RETURN_IF_ERROR(service_.BeginPass(to));
  CallGroup calls;
  const BulkLink link{.stub = *stub_, .calls = calls};
  PhaseTimer timer(Phase::kUpload, kFirstRound, 0, SystemClock());
  Uploader uploader(link, timer);
  const auto start = std::chrono::steady_clock::now();
  INTERLUDE_RETURN_IF_ERROR(uploader.Send({}, load_.chunks(), [this](uint32_t chunk) {
    return std::optional<Uploader::Chunk>({load_.Sent(chunk), load_.hashes[chunk], load_.from});
  }));
  return Seconds(std::chrono::steady_clock::now() - start);
}

StatusOr<Seconds> LoopbackBench::Download() {
  CallGroup calls;
  const BulkLink link{.stub = *stub_, .calls = calls};
  PhaseTimer timer(Phase::kDownload, kFirstRound, 0, SystemClock());
  ChunkDownload download(link, DownloadKind::kSync, kFirstRound, load_.chunk_bytes, SystemClock(),
                         timer);
  std::vector<uint32_t> all(load_.chunks());
  std::iota(all.begin(), all.end(), 0u);
  const auto start = std::chrono::steady_clock::now();
  INTERLUDE_RETURN_IF_ERROR(download.Fetch(
      all, [this](uint32_t chunk) { return load_.Received(chunk); },
      [](const ChunkReceiver::Completed&) { return OkStatus(); }));
  return Seconds(std::chrono::steady_clock::now() - start);
}

}  // namespace

StatusOr<std::unique_ptr<TransportBench>> TransportBench::Create(
    const TransportBenchOptions& options) {
  const size_t chunks = std::max<size_t>(1, options.bytes / options.chunk_bytes);
  JournalGeometry geometry;
  geometry.chunk_bytes.assign(chunks, options.chunk_bytes);
  geometry.slots = 1;
  INTERLUDE_ASSIGN_OR_RETURN(auto journal, Journal::Create(options.directory, geometry));
  auto bench = std::make_unique<LoopbackBench>(options, std::move(journal));
  INTERLUDE_RETURN_IF_ERROR(bench->Start());
  return std::unique_ptr<TransportBench>(std::move(bench));
}

}  // namespace interlude
