// A coordinator for tests of the worker: real gRPC on port 0, one worker, a plain outer step (the
// base moves by the worker's own delta, encoded again), and faults on demand. Keeps everything the
// worker said and sent. It uses the generated service, messages and all, as another implementation
// of the schema would.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_context.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "config/run_config.h"
#include "wire/chunk_stream.h"
#include "wire/convert.h"

namespace interlude {

/// What the coordinator does to the worker. Attempts count from 0 within a round.
struct Script {
  RunConfig config;
  Status refuse_join;                     // not OK: the Session's answer to Join
  bool silent_goodbye = false;            // closes instead of saying Goodbye
  Status goodbye;                         // said after the last round's report
  std::vector<uint32_t> differ_at_start;  // chunks in which the coordinator's first base differs
  bool first_catch_up_is_lost = false;    // as with a connection that broke; StartRound follows
  /// Rounds that were made before the worker comes; it gives no base then.
  uint32_t history = 0;
  /// With a history, what CatchUp tells; none: that all chunks stand after 0 rounds.
  std::vector<uint32_t> chunk_rounds;
  uint32_t rounds_meanwhile = 0;  // made between CaughtUp and the first StartRound
  uint32_t first_retained = 0;    // sync deltas of rounds before it are not to be had
  /// With a history, the round after it is open and so many chunks are merged; the others are when
  /// its sync delta is asked for.
  uint32_t merged_of_open_round = 0;
  bool drop_in_catch_up = false;  // says Goodbye{goodbye} when the first sync chunk is asked for
  bool wrong_base_root = false;
  bool evaluate_first = false;
  bool drop_while_gathering = false;  // says Goodbye{goodbye} instead of asking for the base
  bool drop_in_round = false;         // says Goodbye{goodbye} instead of sending any sync chunk
  /// The answer to an upload's attempt after it was read whole; OK stores it.
  std::function<Status(uint32_t attempt)> answer_upload;
  /// May spoil a piece of the sync delta; returning false breaks the download there.
  std::function<bool(uint32_t attempt, v1::Piece& piece)> on_sync_piece;
  /// May spoil a piece of a base chunk sent for repair.
  std::function<void(v1::Piece& piece)> on_base_piece;
  /// Chunks whose sync delta, as sent, does not lead to the coordinator's base.
  std::vector<uint32_t> diverging_chunks;
};

/// What was seen; read after the worker has returned.
struct Seen {
  JoinMessage join;
  Layout layout;
  std::vector<Hash128> offered_hashes;
  int32_t threads = 0;  // as offered with the base
  std::vector<float> first_base;
  std::map<uint32_t, std::vector<std::vector<std::byte>>> deltas;  // round -> chunk -> payload
  std::map<uint32_t, std::vector<std::vector<std::byte>>> syncs;  // as the coordinator applied them
  std::map<uint32_t, std::vector<Hash128>> bases;  // the hash of each chunk after each round
  std::map<uint32_t, Hash128> roots;               // the coordinator's, after each round
  std::vector<UploadHeader> uploads;
  std::vector<DownloadOrder> downloads;
  std::vector<ProgressMessage> progress;
  std::vector<CaughtUpMessage> caught_up;
  std::vector<RoundReportMessage> reports;
  std::vector<EvaluationReportMessage> evaluations;
  std::vector<LeaveMessage> leaves;
  bool download_during_upload = false;
  std::string control_connection;  // the worker's address and port
  std::set<std::string> bulk_connections;
};

class ScriptedCoordinator final : public v1::Coordinator::Service {
 public:
  using SessionStream = grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::WorkerMessage>;

  explicit ScriptedCoordinator(Script script);
  ~ScriptedCoordinator() override;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  /// Ends the service and gives what was seen.
  const Seen& Finish();

  grpc::Status Session(grpc::ServerContext* context, SessionStream* stream) override;
  grpc::Status Upload(grpc::ServerContext* context, grpc::ServerReader<v1::UploadMessage>* reader,
                      v1::UploadReceipt* receipt) override;
  grpc::Status Download(grpc::ServerContext* context, const v1::DownloadRequest* request,
                        grpc::ServerWriter<v1::Piece>* writer) override;

 private:
  Status PlaySession(SessionStream& stream);
  /// Says Goodbye{goodbye} and reads until the worker has left.
  Status SayGoodbye(SessionStream& stream);
  Status ShareBase(SessionStream& stream);
  Status LetCatchUp(SessionStream& stream);
  /// A round of others moves every chunk of the base below `end` a little, each once.
  void PassRound(uint32_t round, uint32_t end = UINT32_MAX);
  Status PlayRound(SessionStream& stream, uint32_t round);
  StatusOr<WorkerMessage> ReadOne(SessionStream& stream);
  /// Reads, keeping all, until a message of this kind; Cancelled when the worker leaves instead.
  template <typename Kind>
  Status ReadUntil(SessionStream& stream);
  void MakeBase(const BaseOfferMessage& offer);
  StartRoundMessage StartOf(uint32_t round) const;
  Status StoreUpload(grpc::ServerReader<v1::UploadMessage>& reader, const UploadHeader& header);
  void Merge(uint32_t round, uint32_t chunk, std::span<const std::byte> payload)
      INTERLUDE_REQUIRES(mutex_);
  Status SendSync(grpc::ServerContext& context, grpc::ServerWriter<v1::Piece>& writer,
                  uint32_t round, std::vector<uint32_t> chunks);
  Status SendBase(grpc::ServerWriter<v1::Piece>& writer, const std::vector<uint32_t>& chunks);
  bool AwaitSync(grpc::ServerContext& context, uint32_t round, uint32_t chunk);
  std::span<float> BaseChunk(uint32_t chunk);
  uint32_t BaseRound(uint32_t chunk);
  Codec codec() const;

  const Script script_;
  int port_ = 0;
  Mutex mutex_;
  CondVar changed_;
  Seen seen_;
  std::vector<float> base_;
  bool base_uploaded_ INTERLUDE_GUARDED_BY(mutex_) = false;
  std::map<uint32_t, uint32_t> upload_attempts_ INTERLUDE_GUARDED_BY(mutex_);
  std::map<uint32_t, uint32_t> download_attempts_ INTERLUDE_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace interlude
