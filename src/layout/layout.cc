#include "layout/layout.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/check.h"

namespace interlude {
namespace {

static_assert(std::endian::native == std::endian::little, "signatures hash little-endian words");

std::string ShapeText(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

bool HasControlCharacter(std::string_view name) {
  return std::any_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

/// A name from the network may be long or unprintable: messages quote it only after this check.
Status CheckName(const std::string& name, size_t index) {
  if (name.empty()) return InvalidArgumentError("parameter {} has no name", index);
  if (name.size() > kMaxNameBytes) {
    return InvalidArgumentError("the name of parameter {} has {} bytes, the limit is {}", index,
                                name.size(), kMaxNameBytes);
  }
  if (HasControlCharacter(name)) {
    return InvalidArgumentError("the name of parameter {} contains a control character", index);
  }
  return OkStatus();
}

/// The number of values, each partial product checked so that no hostile shape can wrap around.
StatusOr<size_t> CountValues(const ParameterSpec& parameter) {
  if (parameter.shape.size() > kMaxDimensions) {
    return InvalidArgumentError("parameter {} has {} dimensions, the limit is {}", parameter.name,
                                parameter.shape.size(), kMaxDimensions);
  }
  size_t count = 1;
  for (const int64_t dimension : parameter.shape) {
    if (dimension < 1) {
      return InvalidArgumentError("parameter {} has shape {}: each dimension must be at least 1",
                                  parameter.name, ShapeText(parameter.shape));
    }
    if (static_cast<uint64_t>(dimension) > kMaxTotalParams / count) {
      return InvalidArgumentError("parameter {} with shape {} has more than {} values",
                                  parameter.name, ShapeText(parameter.shape), kMaxTotalParams);
    }
    count *= static_cast<size_t>(dimension);
  }
  return count;
}

Status CheckChunkParams(size_t chunk_params) {
  if (chunk_params == 0 || chunk_params % kBlockParams != 0) {
    return InvalidArgumentError("chunk_params is {}, but must be a positive multiple of {}",
                                chunk_params, kBlockParams);
  }
  if (chunk_params > kMaxTotalParams) {
    return InvalidArgumentError("chunk_params is {}, the limit is {}", chunk_params,
                                kMaxTotalParams);
  }
  return OkStatus();
}

class SignatureBytes {
 public:
  void AddWord(uint64_t word) {
    std::byte bytes[sizeof(word)];
    std::memcpy(bytes, &word, sizeof(word));
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(word));
  }
  void AddText(std::string_view text) {
    AddWord(text.size());
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), data, data + text.size());
  }
  Hash128 Hash() const { return HashBytes(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

Hash128 Sign(const std::vector<ParameterSpec>& parameters, size_t chunk_params) {
  SignatureBytes bytes;
  bytes.AddWord(chunk_params);
  bytes.AddWord(parameters.size());
  for (const ParameterSpec& parameter : parameters) {
    bytes.AddText(parameter.name);
    bytes.AddWord(parameter.shape.size());
    for (const int64_t dimension : parameter.shape) bytes.AddWord(static_cast<uint64_t>(dimension));
  }
  return bytes.Hash();
}

}  // namespace

StatusOr<Layout> Layout::Create(std::vector<ParameterSpec> parameters, size_t chunk_params) {
  if (parameters.empty()) return InvalidArgumentError("a layout needs at least one parameter");
  if (parameters.size() > kMaxParameters) {
    return InvalidArgumentError("a layout of {} parameters, the limit is {}", parameters.size(),
                                kMaxParameters);
  }
  INTERLUDE_RETURN_IF_ERROR(CheckChunkParams(chunk_params));

  std::unordered_set<std::string_view> names;
  size_t total = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    ParameterSpec& parameter = parameters[i];
    INTERLUDE_RETURN_IF_ERROR(CheckName(parameter.name, i));
    if (!names.insert(parameter.name).second) {
      return InvalidArgumentError("two parameters are named {}", parameter.name);
    }
    INTERLUDE_ASSIGN_OR_RETURN(parameter.count, CountValues(parameter));
    if (parameter.count > kMaxTotalParams - total) {
      return InvalidArgumentError("with parameter {} the layout has more than {} values",
                                  parameter.name, kMaxTotalParams);
    }
    parameter.offset = total;
    total += parameter.count;
  }
  const size_t chunks = (total - 1) / chunk_params + 1;
  if (chunks > kMaxChunks) {
    return InvalidArgumentError(
        "{} values in chunks of {} are {} chunks, the limit is {}; use larger chunks", total,
        chunk_params, chunks, kMaxChunks);
  }

  Layout layout;
  layout.signature_ = Sign(parameters, chunk_params);
  layout.parameters_ = std::move(parameters);
  layout.total_params_ = total;
  layout.chunk_params_ = chunk_params;
  layout.num_chunks_ = static_cast<uint32_t>(chunks);
  return layout;
}

ChunkRange Layout::chunk(uint32_t index) const {
  INTERLUDE_CHECK(index < num_chunks_, "chunk {} of {}", index, num_chunks_);
  const size_t begin = size_t{index} * chunk_params_;
  return {.index = index, .begin = begin, .count = std::min(chunk_params_, total_params_ - begin)};
}

const ParameterSpec& Layout::ParameterAt(size_t position) const {
  INTERLUDE_CHECK(position < total_params_, "position {} of {}", position, total_params_);
  const auto after = std::upper_bound(
      parameters_.begin(), parameters_.end(), position,
      [](size_t value, const ParameterSpec& parameter) { return value < parameter.offset; });
  return *(after - 1);
}

std::string Layout::DescribePosition(size_t position) const {
  if (position >= total_params_) {
    return fmt::format("position {}, outside the layout of {} values", position, total_params_);
  }
  const ParameterSpec& parameter = ParameterAt(position);
  if (parameter.shape.empty()) return parameter.name;
  std::vector<size_t> indices(parameter.shape.size());
  size_t rest = position - parameter.offset;
  for (size_t d = indices.size(); d-- > 0;) {
    const auto dimension = static_cast<size_t>(parameter.shape[d]);
    indices[d] = rest % dimension;
    rest /= dimension;
  }
  return fmt::format("{}[{}]", parameter.name, fmt::join(indices, ", "));
}

std::string Layout::DescribeDifference(const Layout& other) const {
  const size_t common = std::min(parameters_.size(), other.parameters_.size());
  for (size_t i = 0; i < common; ++i) {
    const ParameterSpec& mine = parameters_[i];
    const ParameterSpec& theirs = other.parameters_[i];
    if (mine.name != theirs.name || mine.shape != theirs.shape) {
      return fmt::format("parameter {}: mine is {} {}, the other's {} {}", i, mine.name,
                         ShapeText(mine.shape), theirs.name, ShapeText(theirs.shape));
    }
  }
  if (parameters_.size() != other.parameters_.size()) {
    const bool more = parameters_.size() > common;
    const ParameterSpec& extra = (more ? parameters_ : other.parameters_)[common];
    return fmt::format("mine has {} parameters, the other {}; only {} has {}", parameters_.size(),
                       other.parameters_.size(), more ? "mine" : "the other", extra.name);
  }
  if (chunk_params_ != other.chunk_params_) {
    return fmt::format("chunks of {} values, the other's of {}", chunk_params_,
                       other.chunk_params_);
  }
  return "equal";
}

}  // namespace interlude
