#include "worker/worker_model.h"

#include <algorithm>
#include <cstring>

namespace interlude {
namespace {

// fp32 is the larger of the two codecs, save for the scale of a short block: a chunk of 1 value
// takes EncodedBytes(kQ4, 1) bytes.
size_t StagingBytes(const Layout& layout) {
  const size_t most = std::min(layout.chunk_params(), layout.total_params());
  return std::max(EncodedBytes(Codec::kFp32, most), EncodedBytes(Codec::kQ4, most));
}

size_t TotalBytes(const Layout& layout, Codec codec) {
  const ChunkRange last = layout.chunk(layout.num_chunks() - 1);
  return EncodedBytes(codec, layout.chunk_params()) * last.index + EncodedBytes(codec, last.count);
}

}  // namespace

WorkerModel::WorkerModel(LocalTrainer& trainer, const RoundConfig& config)
    : trainer_(trainer),
      layout_(trainer.layout()),
      codec_(config.codec == CodecKind::kQ4 ? Codec::kQ4 : Codec::kFp32),
      barrier_(config.exchange == ExchangeMode::kBarrier),
      full_chunk_bytes_(EncodedBytes(codec_, layout_.chunk_params())),
      base_(Buffer::Floats("base", layout_.total_params())),
      payload_("payload", TotalBytes(layout_, codec_)),
      staging_("staging", StagingBytes(layout_)),
      chunk_hashes_(layout_.num_chunks()) {
  if (barrier_) sync_payload_ = Buffer("sync payload", TotalBytes(layout_, codec_));
  if (config.error_feedback) residual_ = Buffer::Floats("residual", layout_.total_params());
  for (uint32_t chunk = 0; chunk < num_chunks(); ++chunk) {
    const std::span<const float> from = parameters(chunk);
    std::copy(from.begin(), from.end(), base(chunk).begin());
    HashBase(chunk);
  }
}

std::span<float> WorkerModel::residual(uint32_t chunk) {
  return residual_.size() == 0 ? std::span<float>() : Part(residual_.floats(), chunk);
}

std::vector<size_t> WorkerModel::PayloadBytes(Codec codec) const {
  std::vector<size_t> bytes;
  bytes.reserve(num_chunks());
  for (uint32_t chunk = 0; chunk < num_chunks(); ++chunk) {
    bytes.push_back(EncodedBytes(codec, layout_.chunk(chunk).count));
  }
  return bytes;
}

Hash128 WorkerModel::HashBase(uint32_t chunk) {
  return chunk_hashes_[chunk] = HashFloats(base(chunk));
}

Status WorkerModel::ReplaceBase(uint32_t chunk, std::span<const std::byte> fp32_payload) {
  const std::span<float> to = base(chunk);
  INTERLUDE_RETURN_IF_ERROR(ValidatePayload(Codec::kFp32, fp32_payload, to.size()));
  std::memcpy(to.data(), fp32_payload.data(), fp32_payload.size());
  std::copy(to.begin(), to.end(), parameters(chunk).begin());
  HashBase(chunk);
  return OkStatus();
}

std::span<float> WorkerModel::Part(std::span<float> all, uint32_t chunk) const {
  const ChunkRange range = layout_.chunk(chunk);
  return all.subspan(range.begin, range.count);
}

std::span<std::byte> WorkerModel::Piece(Buffer& buffer, uint32_t chunk) const {
  return buffer.bytes().subspan(chunk * full_chunk_bytes_,
                                EncodedBytes(codec_, layout_.chunk(chunk).count));
}

}  // namespace interlude
