#include "store/snapshot_format.h"

#include <algorithm>

#include "store/little_endian.h"

namespace interlude {
namespace {

constexpr std::array<char, 8> kMagic = {'I', 'L', 'S', 'N', 'A', 'P', 'S', 'H'};
constexpr std::array<char, 8> kEndMagic = {'I', 'L', 'S', 'N', 'A', 'P', 'E', 'N'};
constexpr std::array<char, 4> kHeadMark = {'C', 'H', 'N', 'K'};

/// Puts the hash of all bytes but the last 16 there.
void PutCheck(std::span<std::byte> bytes) {
  const size_t hashed = bytes.size() - kSnapshotCheckBytes;
  PutHash(bytes, hashed, HashBytes(bytes.first(hashed)));
}

bool CheckFits(std::span<const std::byte> bytes) {
  const size_t hashed = bytes.size() - kSnapshotCheckBytes;
  return GetHash(bytes, hashed) == HashBytes(bytes.first(hashed));
}

/// Appends numbers and texts.
class Appender {
 public:
  template <typename T>
  void Number(T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void Text(std::string_view text) {
    Number(static_cast<uint32_t>(text.size()));
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Takes numbers and texts from the front of bytes. After the first that does not fit nothing more
/// is given.
class Taker {
 public:
  explicit Taker(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
  T Number() {
    if (!Has(sizeof(T))) return 0;
    const T value = Get<T>(rest_, 0);
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }
  /// A count that is not above `limit`.
  uint32_t Count(size_t limit) {
    const auto count = Number<uint32_t>();
    ok_ = ok_ && count <= limit;
    return ok_ ? count : 0;
  }
  std::string Text(size_t limit) {
    const uint32_t size = Count(limit);
    if (!Has(size)) return {};
    std::string text(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return text;
  }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && rest_.empty(); }

 private:
  bool Has(size_t bytes) {
    ok_ = ok_ && rest_.size() >= bytes;
    return ok_;
  }

  std::span<const std::byte> rest_;
  bool ok_ = true;
};

ParameterSpec TakeParameter(Taker& taker) {
  ParameterSpec parameter{.name = taker.Text(kMaxNameBytes), .shape = {}};
  const uint32_t dimensions = taker.Count(kMaxDimensions);
  for (uint32_t i = 0; i < dimensions; ++i) parameter.shape.push_back(taker.Number<int64_t>());
  return parameter;
}

}  // namespace

std::array<std::byte, kSnapshotPreambleBytes> EncodeSnapshotPreamble(
    const SnapshotPreamble& preamble) {
  std::array<std::byte, kSnapshotPreambleBytes> bytes{};
  Put(bytes, 0, kMagic);
  Put(bytes, 8, kSnapshotVersion);
  Put(bytes, 12, preamble.round);
  Put(bytes, 16, preamble.state_per_param);
  Put(bytes, 20, uint32_t{preamble.has_residual});
  Put(bytes, 24, preamble.chunk_params);
  Put(bytes, 32, preamble.description_bytes);
  PutHash(bytes, 48, preamble.description_hash);
  PutHash(bytes, 64, preamble.signature);
  PutCheck(bytes);
  return bytes;
}

StatusOr<SnapshotPreamble> DecodeSnapshotPreamble(std::span<const std::byte> bytes) {
  if (bytes.size() < kSnapshotPreambleBytes) {
    return DataLossError("a snapshot begins with {} bytes, here are {}", kSnapshotPreambleBytes,
                         bytes.size());
  }
  bytes = bytes.first(kSnapshotPreambleBytes);
  if (Get<std::array<char, 8>>(bytes, 0) != kMagic) return DataLossError("this is no snapshot");
  if (!CheckFits(bytes))
    return DataLossError("the snapshot's preamble is damaged: its hash does not fit");
  const auto version = Get<uint32_t>(bytes, 8);
  if (version != kSnapshotVersion) {
    return FailedPreconditionError("the snapshot has version {}, this program reads version {}",
                                   version, kSnapshotVersion);
  }
  const SnapshotPreamble preamble{.round = Get<uint32_t>(bytes, 12),
                                  .state_per_param = Get<uint32_t>(bytes, 16),
                                  .has_residual = Get<uint32_t>(bytes, 20) != 0,
                                  .chunk_params = Get<uint64_t>(bytes, 24),
                                  .description_bytes = Get<uint64_t>(bytes, 32),
                                  .description_hash = GetHash(bytes, 48),
                                  .signature = GetHash(bytes, 64)};
  if (preamble.state_per_param > kMaxSnapshotStatePerParam ||
      preamble.description_bytes > kMaxSnapshotDescriptionBytes) {
    return DataLossError(
        "the snapshot claims {} state values a parameter and a description of {} bytes, the limits "
        "are {} and {}",
        preamble.state_per_param, preamble.description_bytes, kMaxSnapshotStatePerParam,
        kMaxSnapshotDescriptionBytes);
  }
  return preamble;
}

std::vector<std::byte> EncodeSnapshotDescription(const SnapshotHeader& header) {
  Appender appender;
  appender.Text(header.run_id);
  appender.Text(header.software);
  appender.Text(header.config);
  appender.Number(static_cast<uint32_t>(header.layout.parameters().size()));
  for (const ParameterSpec& parameter : header.layout.parameters()) {
    appender.Text(parameter.name);
    appender.Number(static_cast<uint32_t>(parameter.shape.size()));
    for (const int64_t dimension : parameter.shape) appender.Number(dimension);
  }
  return appender.Take();
}

StatusOr<SnapshotHeader> DecodeSnapshotDescription(const SnapshotPreamble& preamble,
                                                   std::span<const std::byte> bytes) {
  if (bytes.size() != preamble.description_bytes || HashBytes(bytes) != preamble.description_hash)
    return DataLossError("the snapshot's description is damaged: its hash does not fit");
  Taker taker(bytes);
  SnapshotHeader header{.run_id = taker.Text(kMaxSnapshotNameBytes),
                        .software = taker.Text(kMaxSnapshotNameBytes),
                        .config = taker.Text(kMaxSnapshotConfigBytes),
                        .layout = {},
                        .state_per_param = preamble.state_per_param,
                        .has_residual = preamble.has_residual,
                        .round = preamble.round};
  const uint32_t tensors = taker.Count(kMaxParameters);
  std::vector<ParameterSpec> parameters;
  for (uint32_t i = 0; i < tensors && taker.ok(); ++i) parameters.push_back(TakeParameter(taker));
  if (!taker.done())
    return DataLossError("the snapshot's description does not end where its counts say");
  auto layout = Layout::Create(std::move(parameters), preamble.chunk_params);
  if (!layout.ok())
    return DataLossError("the snapshot's layout is impossible: {}", layout.status().message());
  if (layout->signature() != preamble.signature)
    return DataLossError("the snapshot's layout has another signature than it says");
  header.layout = *std::move(layout);
  return header;
}

std::array<std::byte, kSnapshotHeadBytes> EncodeSnapshotHead(const SnapshotHead& head) {
  std::array<std::byte, kSnapshotHeadBytes> bytes{};
  Put(bytes, 0, kHeadMark);
  Put(bytes, 4, head.chunk);
  Put(bytes, 8, head.round);
  Put(bytes, 12, head.stored);
  PutHash(bytes, 16, head.base_hash);
  PutHash(bytes, 32, head.state_hash);
  PutHash(bytes, 48, head.residual_hash);
  PutCheck(bytes);
  return bytes;
}

StatusOr<SnapshotHead> DecodeSnapshotHead(std::span<const std::byte> bytes, uint32_t chunk) {
  if (bytes.size() < kSnapshotHeadBytes) {
    return DataLossError("the head of chunk {} has {} bytes, not {}", chunk, bytes.size(),
                         kSnapshotHeadBytes);
  }
  bytes = bytes.first(kSnapshotHeadBytes);
  const SnapshotHead head{.chunk = Get<uint32_t>(bytes, 4),
                          .round = Get<uint32_t>(bytes, 8),
                          .stored = Get<uint32_t>(bytes, 12),
                          .base_hash = GetHash(bytes, 16),
                          .state_hash = GetHash(bytes, 32),
                          .residual_hash = GetHash(bytes, 48)};
  if (Get<std::array<char, 4>>(bytes, 0) != kHeadMark || !CheckFits(bytes) || head.chunk != chunk)
    return DataLossError("the head of chunk {} is damaged or not there", chunk);
  return head;
}

std::array<std::byte, kSnapshotEndBytes> EncodeSnapshotEnd(uint64_t file_bytes,
                                                           const Hash128& checks) {
  std::array<std::byte, kSnapshotEndBytes> bytes{};
  Put(bytes, 0, kEndMagic);
  Put(bytes, 8, file_bytes);
  PutHash(bytes, 16, checks);
  PutCheck(bytes);
  return bytes;
}

Status CheckSnapshotEnd(std::span<const std::byte> bytes, uint64_t file_bytes,
                        const Hash128& checks) {
  const auto expected = EncodeSnapshotEnd(file_bytes, checks);
  if (std::ranges::equal(bytes, expected)) return OkStatus();
  return DataLossError("the snapshot's end is damaged or not there");
}

}  // namespace interlude
