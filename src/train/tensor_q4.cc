#include "train/tensor_q4.h"

#include <limits>

#include "codec/q4_book.h"
#include "codec/q4_format.h"

namespace interlude {
namespace {

constexpr int64_t kBlockValues = kQ4BlockValues;
constexpr int64_t kLanes = 8;
constexpr int64_t kNibbles = 8;
constexpr int32_t kNibble = 15;
constexpr int32_t kSign = std::numeric_limits<int32_t>::min();
constexpr int32_t kMagnitude = std::numeric_limits<int32_t>::max();
constexpr int32_t kUpperHalf = -0x10000;                  // of a word: the bits of a bf16
constexpr int32_t kLargestScale = 0x7F7F << 16;           // the largest finite bf16
constexpr int64_t kScaleAt = 4 - int64_t{kQ4ScaleBytes};  // a bf16's first byte in its fp32

int64_t Blocks(int64_t count) { return (count + kBlockValues - 1) / kBlockValues; }

/// [blocks, 64]; a short last block is filled up with zeros.
at::Tensor InBlocks(const at::Tensor& deltas) {
  const int64_t missing = Blocks(deltas.numel()) * kBlockValues - deltas.numel();
  const at::Tensor padded = missing == 0 ? deltas : at::constant_pad_nd(deltas, {0, missing});
  return padded.view({-1, kBlockValues});
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
  return scale.masked_fill_(magnitude.lt(static_cast<int32_t>(kQ4SmallestBits)), 0);
}

/// Steps 6 and 7: [blocks, 64] codes.
at::Tensor Codes(const at::Tensor& blocks, const at::Tensor& scale_bits,
                 const at::Tensor& thresholds) {
  at::Tensor inverse = scale_bits.view(at::kFloat).reciprocal();
  inverse.masked_fill_(scale_bits.eq(0), 0.0f);
  // `right` counts the thresholds at or below the ratio.
  return at::bucketize(blocks.mul(inverse.unsqueeze(1)), thresholds, /*out_int32=*/true,
                       /*right=*/true);
}

/// Codes' and scales' places in a payload.
at::Tensor CodeBytes(const at::Tensor& payload, int64_t blocks) {
  return payload.narrow(0, 0, blocks * int64_t{kQ4CodeBytes});
}
at::Tensor ScaleBytes(const at::Tensor& payload, int64_t blocks) {
  return payload.narrow(0, blocks * int64_t{kQ4CodeBytes}, blocks * int64_t{kQ4ScaleBytes})
      .view({blocks, int64_t{kQ4ScaleBytes}});
}

/// The two bytes of a bf16 within those of [blocks] fp32 or their bits, little-endian.
at::Tensor UpperBytes(const at::Tensor& words) {
  return words.view(at::kByte).view({-1, 4}).narrow(1, kScaleAt, int64_t{kQ4ScaleBytes});
}

template <size_t N>
at::Tensor OnDevice(const std::array<float, N>& values, at::Device device) {
  return at::tensor(at::ArrayRef<float>(values), at::kFloat).to(device);
}

}  // namespace

TensorQ4::TensorQ4(at::Device device)
    : book_(OnDevice(kQ4Book, device)),
      thresholds_(OnDevice(kQ4Thresholds, device)),
      nibble_shifts_(at::arange(0, 4 * kNibbles, 4, at::TensorOptions(device).dtype(at::kInt))
                         .view({kNibbles, 1})) {}

at::Tensor TensorQ4::Encode(const at::Tensor& deltas) const {
  const at::Tensor blocks = InBlocks(deltas);
  const int64_t count = blocks.size(0);
  const at::Tensor scale_bits = ScaleBits(blocks);
  const at::Tensor codes = Codes(blocks, scale_bits, thresholds_);
  // Nibbles don't overlap, so their sum is their union.
  const at::Tensor lanes = codes.view({count, kNibbles, kLanes})
                               .bitwise_left_shift(nibble_shifts_)
                               .sum(/*dim=*/1, /*keepdim=*/false, at::kInt);
  at::Tensor payload = at::empty({static_cast<int64_t>(Q4PayloadBytes(deltas.numel()))},
                                 deltas.options().dtype(at::kByte));
  CodeBytes(payload, count).copy_(lanes.view(-1).view(at::kByte));
  ScaleBytes(payload, count).copy_(UpperBytes(scale_bits));
  return payload;
}

at::Tensor TensorQ4::Decode(const at::Tensor& payload, int64_t count) const {
  const int64_t blocks = Blocks(count);
  const at::Tensor scales = at::zeros({blocks}, payload.options().dtype(at::kFloat));
  UpperBytes(scales).copy_(ScaleBytes(payload, blocks));
  const at::Tensor lanes = CodeBytes(payload, blocks).view(at::kInt).view({blocks, 1, kLanes});
  const at::Tensor codes = lanes.bitwise_right_shift(nibble_shifts_).bitwise_and_(kNibble);
  const at::Tensor entries = book_.index_select(0, codes.view(-1)).view({blocks, kBlockValues});
  return entries.mul(scales.unsqueeze(1)).view(-1).narrow(0, 0, count);
}

}  // namespace interlude
