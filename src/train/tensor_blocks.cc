#include "train/tensor_blocks.h"

#include <limits>

#include "base/check.h"
#include "codec/block_format.h"
#include "codec/q4_book.h"
#include "codec/q8_codes.h"

namespace interlude {
namespace {

constexpr int64_t kInBlock = kBlockValues;
constexpr int64_t kLanes = 8;
constexpr int64_t kNibbles = 8;
constexpr int32_t kNibble = 15;
constexpr int32_t kSign = std::numeric_limits<int32_t>::min();
constexpr int32_t kMagnitude = std::numeric_limits<int32_t>::max();
constexpr int32_t kUpperHalf = -0x10000;                     // of a word: the bits of a bf16
constexpr int32_t kLargestScale = 0x7F7F << 16;              // the largest finite bf16
constexpr int64_t kScaleAt = 4 - int64_t{kBlockScaleBytes};  // a bf16's first byte in its fp32

int64_t Blocks(int64_t count) { return (count + kInBlock - 1) / kInBlock; }

/// [blocks, 64]; a short last block is filled up with zeros.
at::Tensor InBlocks(const at::Tensor& deltas) {
  const int64_t missing = Blocks(deltas.numel()) * kInBlock - deltas.numel();
  const at::Tensor padded = missing == 0 ? deltas : at::constant_pad_nd(deltas, {0, missing});
  return padded.view({-1, kInBlock});
}

/// Steps 4 and 5 of the format: each block's scale as the bits of an fp32.
at::Tensor ScaleBits(const at::Tensor& blocks) {
  const auto [lowest, highest] = at::aminmax(blocks, /*dim=*/1, /*keepdim=*/false);
  const at::Tensor maximum = at::where(highest.ge(lowest.neg()), highest, lowest);
  const at::Tensor bits = maximum.view(at::kInt);
  const at::Tensor magnitude = bits.bitwise_and(kMagnitude);
  const at::Tensor to_even = magnitude.bitwise_right_shift(16).bitwise_and_(1);
  at::Tensor scale = magnitude.add(0x7FFF).add_(to_even).bitwise_and_(kUpperHalf);
  scale.clamp_max_(kLargestScale).bitwise_or_(bits.bitwise_and(kSign));
  return scale.masked_fill_(magnitude.lt(static_cast<int32_t>(kSmallestScaleBits)), 0);
}

/// Step 6, and the quotients of step 7: [blocks, 64].
at::Tensor Ratios(const at::Tensor& blocks, const at::Tensor& scale_bits) {
  at::Tensor inverse = scale_bits.view(at::kFloat).reciprocal();
  inverse.masked_fill_(scale_bits.eq(0), 0.0f);
  return blocks.mul(inverse.unsqueeze(1));
}

/// [blocks, 2]: the scales' place in a payload, after the codes.
at::Tensor ScalesIn(const at::Tensor& payload, int64_t codes_bytes) {
  return payload.narrow(0, codes_bytes, payload.numel() - codes_bytes)
      .view({-1, int64_t{kBlockScaleBytes}});
}

/// The two bytes of a bf16 within those of [blocks] fp32 or their bits, little-endian.
at::Tensor UpperBytes(const at::Tensor& words) {
  return words.view(at::kByte).view({-1, 4}).narrow(1, kScaleAt, int64_t{kBlockScaleBytes});
}

template <size_t N>
at::Tensor OnDevice(const std::array<float, N>& values, at::Device device) {
  return at::tensor(at::ArrayRef<float>(values), at::kFloat).to(device);
}

}  // namespace

TensorBlocks::TensorBlocks(Codec codec, at::Device device)
    : codec_(codec), code_bytes_(codec == Codec::kQ8 ? kQ8CodeBytes : kQ4CodeBytes) {
  INTERLUDE_CHECK(IsLossy(codec), "{} has no blocks", CodecName(codec));
  if (codec == Codec::kQ8) return;
  book_ = OnDevice(kQ4Book, device);
  thresholds_ = OnDevice(kQ4Thresholds, device);
  nibble_shifts_ =
      at::arange(0, 4 * kNibbles, 4, at::TensorOptions(device).dtype(at::kInt)).view({kNibbles, 1});
}

/// Bytes of codes, block by block, from [blocks, 64] quotients of values and scales.
at::Tensor TensorBlocks::CodesOf(const at::Tensor& ratios) const {
  if (codec_ == Codec::kQ8) {
    // at::round takes the even one of two that are equally near.
    const at::Tensor steps = ratios.mul(kQ8Steps).round_().clamp_(kQ8LowestSteps, kQ8Steps);
    return steps.add(kQ8ZeroCode).to(at::kByte).view(-1);
  }
  // `right` counts the thresholds at or below the ratio.
  const at::Tensor codes = at::bucketize(ratios, thresholds_, /*out_int32=*/true, /*right=*/true);
  // Nibbles don't overlap, so their sum is their union.
  return codes.view({-1, kNibbles, kLanes})
      .bitwise_left_shift(nibble_shifts_)
      .sum(/*dim=*/1, /*keepdim=*/false, at::kInt)
      .view(-1)
      .view(at::kByte);
}

/// [blocks, 64] entries of bytes of codes.
at::Tensor TensorBlocks::EntriesOf(const at::Tensor& codes) const {
  if (codec_ == Codec::kQ8) {
    return codes.to(at::kFloat).sub_(kQ8ZeroCode).div_(kQ8Steps).view({-1, kInBlock});
  }
  const at::Tensor lanes = codes.view(at::kInt).view({-1, 1, kLanes});
  const at::Tensor numbers = lanes.bitwise_right_shift(nibble_shifts_).bitwise_and_(kNibble);
  return book_.index_select(0, numbers.view(-1)).view({-1, kInBlock});
}

at::Tensor TensorBlocks::Encode(const at::Tensor& deltas) const {
  const at::Tensor blocks = InBlocks(deltas);
  const int64_t codes_bytes = blocks.size(0) * code_bytes_;
  const at::Tensor scale_bits = ScaleBits(blocks);
  at::Tensor payload =
      at::empty({static_cast<int64_t>(EncodedBytes(codec_, static_cast<size_t>(deltas.numel())))},
                deltas.options().dtype(at::kByte));
  payload.narrow(0, 0, codes_bytes).copy_(CodesOf(Ratios(blocks, scale_bits)));
  ScalesIn(payload, codes_bytes).copy_(UpperBytes(scale_bits));
  return payload;
}

at::Tensor TensorBlocks::Decode(const at::Tensor& payload, int64_t count) const {
  const int64_t blocks = Blocks(count);
  const int64_t codes_bytes = blocks * code_bytes_;
  const at::Tensor scales = at::zeros({blocks}, payload.options().dtype(at::kFloat));
  UpperBytes(scales).copy_(ScalesIn(payload, codes_bytes));
  const at::Tensor entries = EntriesOf(payload.narrow(0, 0, codes_bytes));
  return entries.mul(scales.unsqueeze(1)).view(-1).narrow(0, 0, count);
}

}  // namespace interlude
