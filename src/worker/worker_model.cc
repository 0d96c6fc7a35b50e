#include "worker/worker_model.h"

#include <algorithm>
#include <utility>

#include "base/free_memory.h"
#include "worker/host_model_copy.h"

namespace interlude {
namespace {

// fp32 is the largest, save for what a short block of the others is filled up with.
size_t StagingBytes(const Layout& layout) {
  const size_t most = std::min(layout.chunk_params(), layout.total_params());
  size_t bytes = 0;
  for (const Codec codec : kAllCodecs) bytes = std::max(bytes, EncodedBytes(codec, most));
  return bytes;
}

size_t TotalBytes(const Layout& layout, Codec codec) {
  const ChunkRange last = layout.chunk(layout.num_chunks() - 1);
  return EncodedBytes(codec, layout.chunk_params()) * last.index + EncodedBytes(codec, last.count);
}

/// One that arrives, one that is applied by each thread, one between.
size_t StagedChunks(int threads) { return static_cast<size_t>(threads) + 2; }

/// The round's payload, and what a barrier holds back.
uint64_t PayloadsBytes(const Layout& layout, const RoundConfig& config) {
  const uint64_t payloads = config.exchange == ExchangeMode::kBarrier ? 2 : 1;
  return payloads * TotalBytes(layout, CodecOf(config));
}

}  // namespace

StatusOr<std::unique_ptr<WorkerModel>> WorkerModel::Create(LocalTrainer& trainer,
                                                           const RoundConfig& config, int threads) {
  const Layout& layout = trainer.layout();
  INTERLUDE_ASSIGN_OR_RETURN(std::unique_ptr<ModelCopy> copy, trainer.MakeDeviceCopy(config));
  const uint64_t host_copies = copy != nullptr ? 0 : config.error_feedback ? 2 : 1;
  INTERLUDE_RETURN_IF_ERROR(CheckFreeMemory(
      fmt::format("a worker's copy of a model of {} parameters", layout.total_params()),
      host_copies * layout.total_params() * sizeof(float) + PayloadsBytes(layout, config) +
          StagedChunks(threads) * StagingBytes(layout)));
  if (copy == nullptr) {
    copy = std::make_unique<HostModelCopy>(trainer, CodecOf(config), config.error_feedback);
  }
  return std::unique_ptr<WorkerModel>(new WorkerModel(layout, config, threads, std::move(copy)));
}

WorkerModel::WorkerModel(const Layout& layout, const RoundConfig& config, int threads,
                         std::unique_ptr<ModelCopy> copy)
    : layout_(layout),
      codec_(CodecOf(config)),
      barrier_(config.exchange == ExchangeMode::kBarrier),
      full_chunk_bytes_(EncodedBytes(codec_, layout_.chunk_params())),
      copy_(std::move(copy)),
      chunks_(layout_.num_chunks()),
      payload_(std::make_shared<Buffer>("payload", TotalBytes(layout_, codec_))),
      sync_payload_(barrier_ ? Buffer("sync payload", TotalBytes(layout_, codec_)) : Buffer()),
      staging_(StagedChunks(threads), StagingBytes(layout_)) {}

std::vector<size_t> WorkerModel::PayloadBytes(Codec codec) const {
  std::vector<size_t> bytes;
  bytes.reserve(num_chunks());
  for (uint32_t chunk = 0; chunk < num_chunks(); ++chunk) {
    bytes.push_back(PayloadBytes(codec, chunk));
  }
  return bytes;
}

std::vector<uint32_t> WorkerModel::ChunksAt(uint32_t round) const {
  std::vector<uint32_t> chunks;
  for (uint32_t chunk = 0; chunk < num_chunks(); ++chunk) {
    if (base_round(chunk) == round) chunks.push_back(chunk);
  }
  return chunks;
}

void WorkerModel::BeginTraining() {
  for (ChunkState& chunk : chunks_) chunk.delta = Delta::kTrained;
}

EncodeOutcome WorkerModel::Encode(uint32_t chunk, Hash128& payload_hash) {
  chunks_[chunk].delta = Delta::kEncoded;
  return copy_->Encode(chunk, payload(chunk), payload_hash);
}

void WorkerModel::ApplySync(uint32_t chunk, std::span<const std::byte> payload, uint32_t round,
                            bool dropped) {
  if (dropped || chunks_[chunk].delta == Delta::kTrained) CarryOver(chunk);
  copy_->Apply(chunk, payload);
  chunks_[chunk] = {.base_round = round, .delta = Delta::kNone};
}

Status WorkerModel::ReplaceBase(uint32_t chunk, std::span<const std::byte> fp32_payload,
                                uint32_t round) {
  INTERLUDE_RETURN_IF_ERROR(copy_->ReplaceBase(chunk, fp32_payload));
  chunks_[chunk] = {.base_round = round, .delta = Delta::kNone};
  return OkStatus();
}

void WorkerModel::Settle() {
  for (uint32_t chunk = 0; chunk < num_chunks(); ++chunk) CarryOver(chunk);
}

void WorkerModel::CarryOver(uint32_t chunk) {
  if (chunks_[chunk].delta == Delta::kNone) return;
  const bool encoded = chunks_[chunk].delta == Delta::kEncoded;
  copy_->CarryOver(chunk, encoded ? payload(chunk) : std::span<std::byte>());
  chunks_[chunk].delta = Delta::kNone;
}

std::vector<Hash128> WorkerModel::BaseHashes() {
  std::vector<Hash128> hashes;
  hashes.reserve(num_chunks());
  for (uint32_t chunk = 0; chunk < num_chunks(); ++chunk) hashes.push_back(copy_->BaseHash(chunk));
  return hashes;
}

std::span<std::byte> WorkerModel::Piece(Buffer& buffer, uint32_t chunk) const {
  return buffer.bytes().subspan(chunk * full_chunk_bytes_, PayloadBytes(codec_, chunk));
}

}  // namespace interlude
