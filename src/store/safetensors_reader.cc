#include <fcntl.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "store/file.h"
#include "store/half_floats.h"
#include "store/little_endian.h"
#include "store/safetensors.h"
#include "store/strict_json.h"

namespace interlude {
namespace {

using Json = nlohmann::json;

/// Bits of one value, or nothing for a type that the format does not know.
std::optional<uint64_t> DtypeBits(std::string_view dtype) {
  static constexpr std::array<std::pair<std::string_view, uint64_t>, 21> kBits = {{
      {"F4", 4},          {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"BOOL", 8},    {"U8", 8},
      {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
      {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
      {"I32", 32},        {"U32", 32},    {"F32", 32},    {"I64", 64},    {"U64", 64},
      {"F64", 64},
  }};
  for (const auto& [name, bits] : kBits) {
    if (name == dtype) return bits;
  }
  if (dtype == "C64") return 64;
  return std::nullopt;
}

StatusOr<std::map<std::string, std::string>> ReadMetadata(const Json& json) {
  std::map<std::string, std::string> metadata;
  if (json.is_null()) return metadata;
  if (!json.is_object()) return DataLossError("{} is no object", kSafetensorsMetadataKey);
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string())
      return DataLossError("{} holds a value that is no text", kSafetensorsMetadataKey);
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

bool IsUnsignedArray(const Json& json) {
  return json.is_array() && std::all_of(json.begin(), json.end(),
                                        [](const Json& item) { return item.is_number_unsigned(); });
}

/// Bytes that the shape and type take; every product is checked, also those of hostile shapes.
StatusOr<uint64_t> TensorBytes(const std::vector<int64_t>& shape, uint64_t dtype_bits) {
  uint64_t bits = dtype_bits;
  for (const int64_t dimension : shape) {
    if (__builtin_mul_overflow(bits, static_cast<uint64_t>(dimension), &bits)) {
      return DataLossError("the product of its shape overflows");
    }
  }
  if (bits % 8 != 0) return DataLossError("its {} bits are no whole number of bytes", bits);
  return bits / 8;
}

StatusOr<SafetensorsEntry> ReadEntry(const std::string& name, const Json& json) {
  if (!json.is_object()) return DataLossError("its description is no object");
  const auto dtype = json.find("dtype");
  const auto shape = json.find("shape");
  const auto offsets = json.find("data_offsets");
  if (dtype == json.end() || shape == json.end() || offsets == json.end()) {
    return DataLossError("dtype, shape or data_offsets is missing");
  }
  if (!dtype->is_string()) return DataLossError("its dtype is no text");
  if (!IsUnsignedArray(*shape)) return DataLossError("its shape is no array of sizes");
  if (!IsUnsignedArray(*offsets) || offsets->size() != 2) {
    return DataLossError("its data_offsets are no two positions");
  }
  SafetensorsEntry entry{.name = name, .dtype = dtype->get<std::string>(), .shape = {}};
  const auto bits = DtypeBits(entry.dtype);
  if (!bits) return DataLossError("its dtype is unknown");
  for (const Json& dimension : *shape) {
    const auto size = dimension.get<uint64_t>();
    if (size > static_cast<uint64_t>(INT64_MAX))
      return DataLossError("the dimension {} is too large", size);
    entry.shape.push_back(static_cast<int64_t>(size));
  }
  entry.begin = (*offsets)[0].get<uint64_t>();
  entry.end = (*offsets)[1].get<uint64_t>();
  if (entry.end < entry.begin)
    return DataLossError("it ends at {}, before its begin {}", entry.end, entry.begin);
  INTERLUDE_ASSIGN_OR_RETURN(const uint64_t bytes, TensorBytes(entry.shape, *bits));
  if (entry.end - entry.begin != bytes) {
    return DataLossError("its shape takes {} bytes, its place has {}", bytes,
                         entry.end - entry.begin);
  }
  return entry;
}

/// The tensors must fill the data section without overlap, hole or rest.
Status CheckTiling(const std::vector<SafetensorsEntry>& entries, uint64_t data_bytes) {
  uint64_t next = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != next) {
      return DataLossError("tensor {:?} begins at data byte {}, the tensors before it end at {}",
                           entry.name, entry.begin, next);
    }
    next = entry.end;
  }
  if (next != data_bytes) {
    return DataLossError("the tensors take {} bytes, the file holds {} after its header", next,
                         data_bytes);
  }
  return OkStatus();
}

StatusOr<SafetensorsHeader> InterpretHeader(const Json& json, uint64_t data_begin,
                                            uint64_t file_bytes) {
  SafetensorsHeader header;
  header.data_begin = data_begin;
  for (const auto& [name, value] : json.items()) {
    if (name == kSafetensorsMetadataKey) {
      INTERLUDE_ASSIGN_OR_RETURN(header.metadata, ReadMetadata(value));
      continue;
    }
    auto entry = ReadEntry(name, value);
    if (!entry.ok()) return entry.status().WithContext(fmt::format("tensor {:?}", name));
    header.entries.push_back(*std::move(entry));
  }
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  INTERLUDE_RETURN_IF_ERROR(CheckTiling(header.entries, file_bytes - data_begin));
  return header;
}

StatusOr<SafetensorsHeader> ReadOpenFile(const FileDescriptor& file, const std::string& path) {
  INTERLUDE_ASSIGN_OR_RETURN(const uint64_t file_bytes, FileSize(file, path));
  uint64_t header_bytes = 0;
  if (file_bytes < sizeof(header_bytes)) {
    return DataLossError("the file has {} bytes, less than its header's length takes", file_bytes);
  }
  INTERLUDE_RETURN_IF_ERROR(
      ReadFullyAt(file, 0, std::as_writable_bytes(std::span(&header_bytes, 1)), path));
  if (header_bytes > kMaxSafetensorsHeaderBytes) {
    return DataLossError("its header claims {} bytes, the limit is {}", header_bytes,
                         kMaxSafetensorsHeaderBytes);
  }
  const uint64_t data_begin = sizeof(header_bytes) + header_bytes;
  if (data_begin > file_bytes) {
    return DataLossError("its header claims {} bytes, the file has {}", header_bytes, file_bytes);
  }
  std::string text(header_bytes, ' ');
  INTERLUDE_RETURN_IF_ERROR(
      ReadFullyAt(file, sizeof(header_bytes), std::as_writable_bytes(std::span(text)), path));
  auto json = ParseStrictJson(text);
  if (!json.ok()) return json.status().WithContext("header");
  return InterpretHeader(*json, data_begin, file_bytes);
}

/// Value i, of the two-byte ones in the back half, is read before anything is written over it.
template <typename Convert>
void Widen(Convert convert, std::span<float> out) {
  const std::span<const std::byte> halves = std::as_bytes(out).last(out.size() * sizeof(uint16_t));
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = convert(Get<uint16_t>(halves, i * sizeof(uint16_t)));
  }
}

}  // namespace

StatusOr<SafetensorsHeader> ReadSafetensorsHeader(const std::string& path) {
  INTERLUDE_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(path, O_RDONLY));
  auto header = ReadOpenFile(file, path);
  if (!header.ok()) return header.status().WithContext("safetensors file " + path);
  return header;
}

uint64_t ValuesOf(const std::vector<int64_t>& shape) {
  uint64_t count = 1;
  for (const int64_t dimension : shape) count *= static_cast<uint64_t>(dimension);
  return count;
}

bool IsSafetensorsFloat(std::string_view dtype) {
  return dtype == "F32" || dtype == "F16" || dtype == "BF16";
}

Status ReadSafetensorsFloats(const std::string& path, const SafetensorsHeader& header,
                             const SafetensorsEntry& entry, uint64_t first, std::span<float> out) {
  if (!IsSafetensorsFloat(entry.dtype)) {
    return InvalidArgumentError("{}: tensor {} is {}, but only F32, F16 and BF16 are read", path,
                                entry.name, entry.dtype);
  }
  const size_t value_bytes = entry.dtype == "F32" ? sizeof(float) : sizeof(uint16_t);
  const uint64_t count = (entry.end - entry.begin) / value_bytes;
  if (first > count || out.size() > count - first) {
    return InvalidArgumentError("{}: tensor {} has {} values, but {} from {} on were to be read",
                                path, entry.name, count, out.size(), first);
  }
  INTERLUDE_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(path, O_RDONLY));
  // Two-byte values are read into the back half and widened from the front on, without other
  // memory.
  const std::span<std::byte> bytes = std::as_writable_bytes(out).last(out.size() * value_bytes);
  INTERLUDE_RETURN_IF_ERROR(
      ReadFullyAt(file, header.data_begin + entry.begin + first * value_bytes, bytes, path));
  if (entry.dtype == "F16") Widen(FromFloat16, out);
  if (entry.dtype == "BF16") Widen(FromBfloat16, out);
  return OkStatus();
}

}  // namespace interlude
