#include "train/tensor_xxh3.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>

namespace interlude {
namespace {

constexpr int64_t kLanes = 8;          // 64-bit accumulators
constexpr int64_t kStripes = 16;       // of a block
constexpr int64_t kStripeValues = 16;  // fp32, as all sizes here
constexpr int64_t kBlockValues = kStripes * kStripeValues;
constexpr int64_t kMostShortValues = 60;  // 240 bytes
constexpr size_t kStripeBytes = 64;
constexpr int64_t kLow32 = 0xFFFFFFFF;

// XXH3's constants: primes, and the secret of seed 0.
constexpr uint64_t kPrime32_1 = 0x9E3779B1;
constexpr uint64_t kPrime32_2 = 0x85EBCA77;
constexpr uint64_t kPrime32_3 = 0xC2B2AE3D;
constexpr uint64_t kPrime64_1 = 0x9E3779B185EBCA87;
constexpr uint64_t kPrime64_2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t kPrime64_3 = 0x165667B19E3779F9;
constexpr uint64_t kPrime64_4 = 0x85EBCA77C2B2AE63;
constexpr uint64_t kPrime64_5 = 0x27D4EB2F165667C5;
constexpr std::array<uint64_t, kLanes> kBegin = {kPrime32_3, kPrime64_1, kPrime64_2, kPrime64_3,
                                                 kPrime64_4, kPrime32_2, kPrime64_5, kPrime32_1};
constexpr std::array<uint8_t, 192> kSecret = {
    // clang-format off
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
    // clang-format on
};
constexpr size_t kScrambleSecretAt = kSecret.size() - kStripeBytes;
constexpr size_t kLastSecretAt = kScrambleSecretAt - 7;
constexpr size_t kLowMergeSecretAt = 11;
constexpr size_t kHighMergeSecretAt = kScrambleSecretAt - 11;

uint64_t SecretWord(size_t at) {
  uint64_t word;
  std::memcpy(&word, kSecret.data() + at, sizeof(word));
  return word;
}

/// [stripes, 8] words of the secret from byte `at` on, each stripe 8 bytes further.
at::Tensor SecretTensor(size_t at, int64_t stripes, at::Device device) {
  at::Tensor words = at::empty({stripes, kLanes}, at::kLong);
  int64_t* const to = words.data_ptr<int64_t>();
  for (int64_t i = 0; i < stripes * kLanes; ++i) {
    const auto offset = static_cast<size_t>(i / kLanes + i % kLanes) * 8;
    to[i] = static_cast<int64_t>(SecretWord(at + offset));
  }
  return words.to(device);
}

int64_t FullBlocks(int64_t count) { return (count * 4 - 1) / (kBlockValues * 4); }

using Accumulators = std::array<uint64_t, kLanes>;

__extension__ using Uint128 = unsigned __int128;

uint64_t Merge(const Accumulators& lanes, size_t secret_at, uint64_t start) {
  uint64_t result = start;
  for (size_t i = 0; i < lanes.size(); i += 2) {
    const Uint128 product = Uint128{lanes[i] ^ SecretWord(secret_at + 8 * i)} *
                            (lanes[i + 1] ^ SecretWord(secret_at + 8 * i + 8));
    result += static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  result ^= result >> 37;
  result *= 0x165667919E3779F9;
  return result ^ result >> 32;
}

Hash128 Finish(const Accumulators& lanes, int64_t count) {
  const uint64_t bytes = static_cast<uint64_t>(count) * 4;
  return {.high = Merge(lanes, kHighMergeSecretAt, ~(bytes * kPrime64_2)),
          .low = Merge(lanes, kLowMergeSecretAt, bytes * kPrime64_1)};
}

Hash128 HashOnHost(const at::Tensor& values) {
  const at::Tensor copy = values.cpu();
  return HashFloats({copy.data_ptr<float>(), static_cast<size_t>(copy.numel())});
}

}  // namespace

TensorXxh3::TensorXxh3(at::Device device)
    : begin_(at::empty({kLanes}, at::kLong)),
      stripe_secret_(SecretTensor(0, kStripes, device)),
      scramble_secret_(SecretTensor(kScrambleSecretAt, 1, device).view({kLanes})),
      last_secret_(SecretTensor(kLastSecretAt, 1, device)) {
  std::memcpy(begin_.data_ptr<int64_t>(), kBegin.data(), sizeof(kBegin));
  begin_ = begin_.to(device);
}

// What stripes [..., stripes, 8] add to the accumulators: the low times the high half of each word
// under the secret, and the word itself to the lane next to its own. Integers wrap, as they do in
// the definition.
at::Tensor TensorXxh3::Sums(const at::Tensor& words, const at::Tensor& secret) const {
  const at::Tensor keys = words.bitwise_xor(secret);
  const at::Tensor high = keys.bitwise_right_shift(32).bitwise_and_(kLow32);
  const at::Tensor products = keys.bitwise_and(kLow32).mul_(high).sum(-2);
  const at::Tensor swapped = words.sum(-2).view({-1, kLanes / 2, 2}).flip({2});
  return swapped.reshape({-1, kLanes}).add_(products);
}

// [full blocks, 8]
at::Tensor TensorXxh3::BlockSums(const at::Tensor& values) const {
  const int64_t blocks = FullBlocks(values.numel());
  const at::Tensor words = values.narrow(0, 0, blocks * kBlockValues).view(at::kLong);
  return Sums(words.view({blocks, kStripes, kLanes}), stripe_secret_);
}

// [1, 8]: of the stripes after the last full block, and of the last 64 bytes, which overlap them.
at::Tensor TensorXxh3::TailSums(const at::Tensor& values) const {
  const int64_t begin = FullBlocks(values.numel()) * kBlockValues;
  const int64_t stripes = ((values.numel() - begin) * 4 - 1) / (kStripeValues * 4);
  const at::Tensor words = values.narrow(0, begin, stripes * kStripeValues).view(at::kLong);
  // A copy, since they may begin between two words.
  const at::Tensor last =
      values.narrow(0, values.numel() - kStripeValues, kStripeValues).clone().view(at::kLong);
  return Sums(words.view({1, stripes, kLanes}), stripe_secret_.narrow(0, 0, stripes))
      .add_(Sums(last.view({1, 1, kLanes}), last_secret_));
}

// The accumulators [tensors, 8] after all full blocks: row i takes the first blocks[i], in
// descending order, of `sums` [blocks, tensors, 8].
at::Tensor TensorXxh3::Chain(const at::Tensor& sums, std::span<const int64_t> blocks) const {
  auto active = static_cast<int64_t>(blocks.size());
  const at::Tensor accumulators = begin_.expand({active, kLanes}).clone();
  const at::Tensor shifted = at::empty_like(accumulators);
  for (int64_t block = 0; block < sums.size(0); ++block) {
    while (blocks[static_cast<size_t>(active - 1)] <= block) --active;
    const at::Tensor rows = accumulators.narrow(0, 0, active);
    at::Tensor shift = shifted.narrow(0, 0, active);
    rows.add_(sums.select(0, block).narrow(0, 0, active));
    // The shift fills with the sign; 17 bits are left of a logical one.
    at::bitwise_right_shift_out(shift, rows, 47);
    rows.bitwise_xor_(shift.bitwise_and_(0x1FFFF)).bitwise_xor_(scramble_secret_);
    rows.mul_(static_cast<int64_t>(kPrime32_1));
  }
  return accumulators;
}

std::vector<Hash128> TensorXxh3::Hash(std::span<const at::Tensor> tensors) const {
  std::vector<Hash128> hashes(tensors.size());
  std::vector<size_t> order;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].numel() <= kMostShortValues) {
      hashes[i] = HashOnHost(tensors[i]);
    } else {
      order.push_back(i);
    }
  }
  if (order.empty()) return hashes;
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return tensors[i].numel(); });

  std::vector<int64_t> blocks;
  for (const size_t i : order) blocks.push_back(FullBlocks(tensors[i].numel()));
  const auto rows = static_cast<int64_t>(order.size());
  const at::Tensor sums = at::empty({blocks.front(), rows, kLanes}, begin_.options());
  std::vector<at::Tensor> tails;
  for (int64_t row = 0; row < rows; ++row) {
    const at::Tensor& values = tensors[order[static_cast<size_t>(row)]];
    const at::Tensor to = sums.narrow(0, 0, blocks[static_cast<size_t>(row)]).select(1, row);
    to.copy_(BlockSums(values));
    tails.push_back(TailSums(values));
  }
  const at::Tensor lanes = Chain(sums, blocks).add_(at::cat(tails)).cpu();
  for (size_t row = 0; row < order.size(); ++row) {
    Accumulators accumulators;
    std::memcpy(accumulators.data(), lanes.data_ptr<int64_t>() + row * kLanes,
                sizeof(accumulators));
    hashes[order[row]] = Finish(accumulators, tensors[order[row]].numel());
  }
  return hashes;
}

}  // namespace interlude
