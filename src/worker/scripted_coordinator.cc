#include "worker/scripted_coordinator.h"

#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "codec/chunk_codec.h"
#include "worker/synthetic_trainer.h"

namespace interlude {
namespace {

constexpr uint64_t kSession = 0xfeedface;

bool Contains(const std::vector<uint32_t>& list, uint32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

ScriptedCoordinator::ScriptedCoordinator(Script script) : script_(std::move(script)) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  INTERLUDE_CHECK(server_ != nullptr, "no port for the test's coordinator");
}

ScriptedCoordinator::~ScriptedCoordinator() { Finish(); }

const Seen& ScriptedCoordinator::Finish() {
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  return seen_;
}

Codec ScriptedCoordinator::codec() const { return CodecOf(script_.config.round); }

std::span<float> ScriptedCoordinator::BaseChunk(uint32_t chunk) {
  const ChunkRange range = seen_.layout.chunk(chunk);
  return std::span(base_).subspan(range.begin, range.count);
}

uint32_t ScriptedCoordinator::BaseRound(uint32_t chunk) {
  MutexLock lock(mutex_);
  uint32_t newest = 0;
  for (const auto& [round, syncs] : seen_.syncs) {
    if (syncs.size() > chunk) newest = round;
  }
  return newest;
}

// ---- session ----

grpc::Status ScriptedCoordinator::Session(grpc::ServerContext* context, SessionStream* stream) {
  seen_.control_connection = context->peer();
  context->AddTrailingMetadata(kOwnWord, "1");
  return ToGrpc(PlaySession(*stream));
}

StatusOr<WorkerMessage> ScriptedCoordinator::ReadOne(SessionStream& stream) {
  v1::WorkerMessage proto;
  if (!stream.Read(&proto)) return CancelledError("the worker closed");
  INTERLUDE_ASSIGN_OR_RETURN(WorkerMessage message, FromProto(proto));
  MutexLock lock(mutex_);
  if (const auto* progress = std::get_if<ProgressMessage>(&message))
    seen_.progress.push_back(*progress);
  if (const auto* caught_up = std::get_if<CaughtUpMessage>(&message))
    seen_.caught_up.push_back(*caught_up);
  if (const auto* report = std::get_if<RoundReportMessage>(&message))
    seen_.reports.push_back(*report);
  if (const auto* report = std::get_if<EvaluationReportMessage>(&message))
    seen_.evaluations.push_back(*report);
  if (const auto* leave = std::get_if<LeaveMessage>(&message)) {
    seen_.leaves.push_back(*leave);
    return CancelledError("the worker left");
  }
  return message;
}

template <typename Kind>
Status ScriptedCoordinator::ReadUntil(SessionStream& stream) {
  for (;;) {
    const StatusOr<WorkerMessage> message = ReadOne(stream);
    if (!message.ok()) return message.status();
    if (std::holds_alternative<Kind>(*message)) return OkStatus();
  }
}

void ScriptedCoordinator::MakeBase(const BaseOfferMessage& offer) {
  MutexLock lock(mutex_);
  seen_.layout = offer.layout;
  seen_.offered_hashes = offer.chunk_hashes;
  seen_.threads = offer.threads;
  base_.resize(offer.layout.total_params());
}

Status ScriptedCoordinator::PlaySession(SessionStream& stream) {
  INTERLUDE_ASSIGN_OR_RETURN(const WorkerMessage join, ReadOne(stream));
  seen_.join = std::get<JoinMessage>(join);
  INTERLUDE_RETURN_IF_ERROR(script_.refuse_join);
  stream.Write(
      ToProto(CoordinatorMessage(WelcomeMessage{.worker = 0,
                                                .workers = 1,
                                                .session = kSession,
                                                .run_id = "test",
                                                .config_toml = FormatRunConfig(script_.config)})));
  INTERLUDE_ASSIGN_OR_RETURN(const WorkerMessage offer, ReadOne(stream));
  MakeBase(std::get<BaseOfferMessage>(offer));
  if (script_.drop_while_gathering) return SayGoodbye(stream);
  INTERLUDE_RETURN_IF_ERROR(script_.history > 0 ? LetCatchUp(stream) : ShareBase(stream));
  const uint32_t first = kFirstRound + script_.history + script_.rounds_meanwhile;
  for (uint32_t round = first; round <= script_.config.round.rounds; ++round) {
    INTERLUDE_RETURN_IF_ERROR(PlayRound(stream, round));
  }
  if (script_.silent_goodbye) return OkStatus();
  if (script_.goodbye.ok()) {
    stream.Write(
        ToProto(CoordinatorMessage(FinishMessage{.after_rounds = script_.config.round.rounds})));
    INTERLUDE_RETURN_IF_ERROR(ReadUntil<EvaluationReportMessage>(stream));
  }
  return SayGoodbye(stream);
}

Status ScriptedCoordinator::ShareBase(SessionStream& stream) {
  stream.Write(ToProto(CoordinatorMessage(ProvideBaseMessage{})));
  CatchUpMessage message;
  {
    MutexLock lock(mutex_);
    while (!base_uploaded_) changed_.Wait(mutex_);
    seen_.first_base = base_;
    message.chunk_rounds.resize(seen_.layout.num_chunks());
    for (const uint32_t chunk : script_.differ_at_start) {
      BaseChunk(chunk)[0] += 1.0f;
      message.chunk_rounds[chunk] = kNoBase;
    }
  }
  if (!script_.first_catch_up_is_lost) stream.Write(ToProto(CoordinatorMessage(message)));
  return OkStatus();
}

Status ScriptedCoordinator::LetCatchUp(SessionStream& stream) {
  const auto trainer = CreateSyntheticTrainer(script_.config, 0, 1).value();
  const std::span<const float> parameters = trainer->parameters();
  base_.assign(parameters.begin(), parameters.end());
  uint32_t round = 0;
  while (round < script_.history) PassRound(++round);
  PassRound(round + 1, script_.merged_of_open_round);
  CatchUpMessage message{.committed_rounds = round, .chunk_rounds = script_.chunk_rounds};
  if (message.chunk_rounds.empty()) message.chunk_rounds.resize(seen_.layout.num_chunks());
  stream.Write(ToProto(CoordinatorMessage(message)));
  if (script_.drop_in_catch_up) {
    {
      MutexLock lock(mutex_);
      while (seen_.downloads.empty()) changed_.Wait(mutex_);
    }
    return SayGoodbye(stream);
  }
  INTERLUDE_RETURN_IF_ERROR(ReadUntil<CaughtUpMessage>(stream));
  while (round < script_.history + script_.rounds_meanwhile) PassRound(++round);
  return OkStatus();
}

void ScriptedCoordinator::PassRound(uint32_t round, uint32_t end) {
  MutexLock lock(mutex_);
  end = std::min(end, seen_.layout.num_chunks());
  for (auto chunk = static_cast<uint32_t>(seen_.syncs[round].size()); chunk < end; ++chunk) {
    std::vector<float> move(BaseChunk(chunk).size());
    for (size_t i = 0; i < move.size(); ++i)
      move[i] = 1e-3f * static_cast<float>((i * 7 + round * 13) % 17);
    std::vector<std::byte> payload(EncodedBytes(codec(), move.size()));
    std::vector<float> from(move.size());
    EncodeUpdate(codec(), move, {}, from, payload);
    Merge(round, chunk, payload);
  }
  if (end == seen_.layout.num_chunks()) seen_.roots[round] = RootHash(seen_.bases[round]);
}

Status ScriptedCoordinator::SayGoodbye(SessionStream& stream) {
  stream.Write(ToProto(
      CoordinatorMessage(GoodbyeMessage{script_.goodbye.code(), script_.goodbye.message()})));
  (void)ReadUntil<JoinMessage>(stream);  // until the worker has left
  return OkStatus();
}

StartRoundMessage ScriptedCoordinator::StartOf(uint32_t round) const {
  const auto before = seen_.roots.find(round - 1);
  StartRoundMessage start{.round = round,
                          .evaluate = script_.evaluate_first && round == kFirstRound};
  if (before != seen_.roots.end()) start.base_root = before->second;
  return start;
}

Status ScriptedCoordinator::PlayRound(SessionStream& stream, uint32_t round) {
  StartRoundMessage start = StartOf(round);
  if (round == kFirstRound) {
    std::vector<Hash128> hashes;
    for (uint32_t chunk = 0; chunk < seen_.layout.num_chunks(); ++chunk)
      hashes.push_back(HashFloats(BaseChunk(chunk)));
    start.base_root = RootHash(hashes);
    if (script_.wrong_base_root) start.base_root.low ^= 1;
  }
  stream.Write(ToProto(CoordinatorMessage(start)));
  if (script_.drop_in_round) {
    {
      MutexLock lock(mutex_);
      while (seen_.uploads.size() < 2) changed_.Wait(mutex_);  // the base, and a delta
    }
    stream.Write(ToProto(
        CoordinatorMessage(GoodbyeMessage{script_.goodbye.code(), script_.goodbye.message()})));
  }
  return ReadUntil<RoundReportMessage>(stream);
}

// ---- upload ----

grpc::Status ScriptedCoordinator::Upload(grpc::ServerContext* context,
                                         grpc::ServerReader<v1::UploadMessage>* reader,
                                         v1::UploadReceipt*) {
  v1::UploadMessage message;
  if (!reader->Read(&message)) return ToGrpc(CancelledError("no header"));
  const StatusOr<UploadHeader> header = FromProto(message.header());
  if (!header.ok()) return ToGrpc(header.status());
  if (header->session != kSession) return ToGrpc(PermissionDeniedError("wrong session"));
  {
    MutexLock lock(mutex_);
    seen_.uploads.push_back(*header);
    seen_.bulk_connections.insert(context->peer());
    changed_.NotifyAll();
  }
  const Status status = StoreUpload(*reader, *header);
  MutexLock lock(mutex_);
  if (status.ok() && header->kind == UploadKind::kBase) base_uploaded_ = true;
  changed_.NotifyAll();
  return ToGrpc(status);
}

Status ScriptedCoordinator::StoreUpload(grpc::ServerReader<v1::UploadMessage>& reader,
                                        const UploadHeader& header) {
  const Layout& layout = seen_.layout;
  std::vector<size_t> sizes;
  std::vector<std::vector<std::byte>> chunks;
  for (uint32_t chunk = 0; chunk < layout.num_chunks(); ++chunk) {
    sizes.push_back(EncodedBytes(header.codec, layout.chunk(chunk).count));
    chunks.emplace_back(sizes.back());
  }
  ChunkReceiver receiver(sizes, header.chunks,
                         [&](uint32_t chunk, uint64_t offset, ByteSpans bytes) {
                           CopySpans(bytes, chunks[chunk].data() + offset);
                           return OkStatus();
                         });
  v1::UploadMessage message;
  while (reader.Read(&message))
    INTERLUDE_RETURN_IF_ERROR(receiver.Accept(RawPiece(message.piece())).status());
  if (!receiver.complete()) return DataLossError("{} chunks are missing", receiver.missing());

  MutexLock lock(mutex_);
  if (header.kind == UploadKind::kBase) {
    for (uint32_t chunk = 0; chunk < layout.num_chunks(); ++chunk) {
      std::copy(chunks[chunk].begin(), chunks[chunk].end(),
                std::as_writable_bytes(BaseChunk(chunk)).begin());
    }
    return OkStatus();
  }
  const uint32_t attempt = upload_attempts_[header.round]++;
  if (script_.answer_upload) INTERLUDE_RETURN_IF_ERROR(script_.answer_upload(attempt));
  seen_.deltas[header.round] = chunks;
  if (script_.drop_in_round) return OkStatus();
  for (uint32_t chunk = 0; chunk < layout.num_chunks(); ++chunk)
    Merge(header.round, chunk, chunks[chunk]);
  seen_.roots[header.round] = RootHash(seen_.bases[header.round]);
  return OkStatus();
}

void ScriptedCoordinator::Merge(uint32_t round, uint32_t chunk,
                                std::span<const std::byte> payload) {
  const std::span<float> base = BaseChunk(chunk);
  std::vector<float> update(base.size());
  const float weight = 1.0f;
  DecodeAverage(codec(), {&payload, 1}, {&weight, 1}, update);
  std::vector<std::byte> sync(EncodedBytes(codec(), base.size()));
  EncodeUpdate(codec(), update, {}, base, sync);
  if (Contains(script_.diverging_chunks, chunk)) base[0] += 1.0f;
  seen_.syncs[round].push_back(std::move(sync));
  seen_.bases[round].push_back(HashFloats(base));
}

// ---- download ----

grpc::Status ScriptedCoordinator::Download(grpc::ServerContext* context,
                                           const v1::DownloadRequest* request,
                                           grpc::ServerWriter<v1::Piece>* writer) {
  const StatusOr<DownloadOrder> order = FromProto(*request);
  if (!order.ok()) return ToGrpc(order.status());
  if (order->session != kSession) return ToGrpc(PermissionDeniedError("wrong session"));
  {
    MutexLock lock(mutex_);
    seen_.downloads.push_back(*order);
    seen_.bulk_connections.insert(context->peer());
    changed_.NotifyAll();
    // Whether the delta is in already: with a barrier it must be.
    if (order->kind == DownloadKind::kSync && seen_.deltas.count(order->round) == 0) {
      seen_.download_during_upload = true;
    }
  }
  std::vector<uint32_t> chunks = order->chunks;
  if (chunks.empty()) {
    chunks.resize(seen_.layout.num_chunks());
    std::iota(chunks.begin(), chunks.end(), 0u);
  }
  if (order->kind == DownloadKind::kBase) return ToGrpc(SendBase(*writer, chunks));
  if (order->round < script_.first_retained)
    return ToGrpc(NotFoundError("the sync delta of round {} is no longer retained", order->round));
  if (script_.merged_of_open_round > 0 && order->round == script_.history + 1)
    PassRound(order->round);
  return ToGrpc(SendSync(*context, *writer, order->round, chunks));
}

bool ScriptedCoordinator::AwaitSync(grpc::ServerContext& context, uint32_t round, uint32_t chunk) {
  MutexLock lock(mutex_);
  while (seen_.syncs[round].size() <= chunk) {
    if (context.IsCancelled()) return false;
    changed_.WaitFor(mutex_, std::chrono::milliseconds(20));
  }
  return true;
}

Status ScriptedCoordinator::SendSync(grpc::ServerContext& context,
                                     grpc::ServerWriter<v1::Piece>& writer, uint32_t round,
                                     std::vector<uint32_t> chunks) {
  uint32_t attempt = 0;
  {
    MutexLock lock(mutex_);
    attempt = download_attempts_[round]++;
  }
  for (const uint32_t chunk : chunks) {
    if (script_.drop_in_catch_up) return CancelledError("dropped");
    if (!AwaitSync(context, round, chunk)) return CancelledError("the worker gave up");
    const std::vector<std::byte>& payload = seen_.syncs[round][chunk];
    const ChunkHashes hashes{.payload = HashBytes(payload), .base = seen_.bases[round][chunk]};
    const bool sent = SendChunk(chunk, payload, hashes, [&](v1::Piece& piece, auto bytes) {
      piece.set_payload(bytes.data(), bytes.size());
      if (script_.on_sync_piece && !script_.on_sync_piece(attempt, piece)) return false;
      return writer.Write(piece);
    });
    if (!sent) return UnavailableError("the line broke at chunk {}", chunk);
  }
  return OkStatus();
}

Status ScriptedCoordinator::SendBase(grpc::ServerWriter<v1::Piece>& writer,
                                     const std::vector<uint32_t>& chunks) {
  for (const uint32_t chunk : chunks) {
    const std::span<const std::byte> payload = std::as_bytes(BaseChunk(chunk));
    const Hash128 hash = HashBytes(payload);
    const ChunkHashes hashes{.payload = hash, .base = hash, .base_round = BaseRound(chunk)};
    SendChunk(chunk, payload, hashes, [&](v1::Piece& piece, auto bytes) {
      piece.set_payload(bytes.data(), bytes.size());
      if (script_.on_base_piece) script_.on_base_piece(piece);
      return writer.Write(piece);
    });
  }
  return OkStatus();
}

}  // namespace interlude
