#include "train/device_model_copy.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "base/mutex.h"
#include "codec/float_environment.h"
#include "train/name_tensor.h"
#include "train/tensor_blocks.h"
#include "train/tensor_non_finite.h"
#include "train/tensor_xxh3.h"

namespace interlude {
namespace {

// The host's memory as a tensor of bytes, for copies from and to the device.
at::Tensor HostBytes(std::span<const std::byte> bytes) {
  return at::from_blob(const_cast<std::byte*>(bytes.data()), {static_cast<int64_t>(bytes.size())},
                       at::kByte);
}

class DeviceModelCopy final : public ModelCopy {
 public:
  DeviceModelCopy(const Layout& layout, Codec codec, bool keep_residual, at::Tensor parameters)
      : layout_(layout),
        xxh3_(parameters.device()),
        parameters_(std::move(parameters)),
        base_(parameters_.clone()),
        hashes_(layout.num_chunks()),
        stale_(layout.num_chunks(), true) {
    if (IsLossy(codec)) blocks_.emplace(codec, parameters_.device());
    if (keep_residual) residual_ = at::zeros_like(base_);
    names_ = {NameTensor("base", base_), NameTensor("residual", residual_)};
  }

  EncodeOutcome Encode(uint32_t chunk, std::span<std::byte> out, Hash128& payload_hash) override {
    return OnDevice([&] { return EncodeChunk(chunk, out, payload_hash); });
  }

  void Apply(uint32_t chunk, std::span<const std::byte> payload) override {
    OnDevice([&] { Add(chunk, Decode(ToDevice(payload), layout_.chunk(chunk).count)); });
  }

  void CarryOver(uint32_t chunk, std::span<const std::byte> payload) override {
    OnDevice([&] {
      if (residual_.defined()) AddToResidual(chunk, payload);
      Part(parameters_, chunk).copy_(Part(base_, chunk));
    });
  }

  Hash128 BaseHash(uint32_t chunk) override {
    return OnDevice([&] {
      if (stale_[chunk]) HashStale();
      return hashes_[chunk];
    });
  }

  void ReadBase(uint32_t chunk, std::span<std::byte> out) override {
    OnDevice([&] { HostBytes(out).copy_(Part(base_, chunk).view(at::kByte)); });
  }

  Status ReplaceBase(uint32_t chunk, std::span<const std::byte> fp32_payload) override {
    INTERLUDE_RETURN_IF_ERROR(
        ValidatePayload(Codec::kFp32, fp32_payload, layout_.chunk(chunk).count));
    OnDevice([&] {
      Part(base_, chunk).view(at::kByte).copy_(HostBytes(fp32_payload));
      BaseChanged(chunk);
    });
    return OkStatus();
  }

 private:
  // One caller at a time, in the float environment that the format asks for; where LibTorch's
  // exceptions end.
  template <typename Body>
  auto OnDevice(Body&& body) -> decltype(body()) {
    const MutexLock lock(mutex_);
    const DefaultFloatEnvironment environment;
    try {
      return body();
    } catch (const c10::Error& error) {
      GiveUp(error.what_without_backtrace());
    } catch (const std::exception& error) {
      GiveUp(error.what());
    }
  }

  [[noreturn]] void GiveUp(const char* what) const {
    LogError(
        "{}: the worker's copy of the model can't be trusted any more: {}; start the worker "
        "again",
        parameters_.device().str(), what);
    std::abort();
  }

  EncodeOutcome EncodeChunk(uint32_t chunk, std::span<std::byte> out, Hash128& payload_hash) {
    at::Tensor deltas = Part(parameters_, chunk).sub(Part(base_, chunk));
    if (residual_.defined()) deltas.add_(Part(residual_, chunk));
    if (const auto bad = FindNonFinite(deltas)) return {.first_nonfinite = bad};
    const at::Tensor payload = blocks_ ? blocks_->Encode(deltas) : deltas.view(at::kByte);
    if (residual_.defined()) {
      Part(residual_, chunk).copy_(deltas.sub(Decode(payload, deltas.numel())));
    }
    HostBytes(out).copy_(payload);
    payload_hash = HashBytes(out);
    return {};
  }

  void AddToResidual(uint32_t chunk, std::span<const std::byte> payload) {
    const at::Tensor delta = payload.empty()
                                 ? Part(parameters_, chunk).sub(Part(base_, chunk))
                                 : Decode(ToDevice(payload), layout_.chunk(chunk).count);
    const at::Tensor residual = Part(residual_, chunk);
    const at::Tensor sum = residual.add(delta);
    residual.copy_(at::where(sum.isfinite(), sum, residual));
  }

  at::Tensor ToDevice(std::span<const std::byte> payload) const {
    const at::Tensor host = HostBytes(payload);
    // Never the host's memory itself, which need not be aligned.
    return at::empty(host.sizes(), base_.options().dtype(at::kByte)).copy_(host);
  }

  at::Tensor Decode(const at::Tensor& payload, size_t count) const {
    return blocks_ ? blocks_->Decode(payload, static_cast<int64_t>(count))
                   : payload.view(at::kFloat);
  }

  void Add(uint32_t chunk, const at::Tensor& values) {
    Part(base_, chunk).add_(values);
    BaseChanged(chunk);
  }

  void BaseChanged(uint32_t chunk) {
    Part(parameters_, chunk).copy_(Part(base_, chunk));
    stale_[chunk] = true;
  }

  void HashStale() {
    std::vector<uint32_t> chunks;
    std::vector<at::Tensor> parts;
    for (uint32_t chunk = 0; chunk < layout_.num_chunks(); ++chunk) {
      if (!stale_[chunk]) continue;
      chunks.push_back(chunk);
      parts.push_back(Part(base_, chunk));
    }
    const std::vector<Hash128> hashes = xxh3_.Hash(parts);
    for (size_t i = 0; i < chunks.size(); ++i) {
      hashes_[chunks[i]] = hashes[i];
      stale_[chunks[i]] = false;
    }
  }

  at::Tensor Part(const at::Tensor& all, uint32_t chunk) const {
    const ChunkRange range = layout_.chunk(chunk);
    return all.narrow(0, static_cast<int64_t>(range.begin), static_cast<int64_t>(range.count));
  }

  const Layout layout_;
  std::optional<TensorBlocks> blocks_;  // of a codec that has them
  const TensorXxh3 xxh3_;
  Mutex mutex_;
  at::Tensor parameters_;
  at::Tensor base_;
  at::Tensor residual_;  // undefined without error feedback
  std::array<NamedMemory, 2> names_;
  std::vector<Hash128> hashes_;  // of the base
  std::vector<bool> stale_;      // whose hash the base has outgrown
};

}  // namespace

std::unique_ptr<ModelCopy> CreateDeviceModelCopy(const Layout& layout, Codec codec,
                                                 bool keep_residual, at::Tensor parameters) {
  INTERLUDE_CHECK(static_cast<size_t>(parameters.numel()) == layout.total_params(),
                  "{} values for a layout of {}", parameters.numel(), layout.total_params());
  return std::make_unique<DeviceModelCopy>(layout, codec, keep_residual, std::move(parameters));
}

}  // namespace interlude
