#include <fcntl.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "store/file.h"
#include "store/safetensors.h"

namespace interlude {
namespace {

using Json = nlohmann::json;

/// Deeper nesting than any header needs; the reference parser stops at 128 as well.
constexpr int kMaxJsonDepth = 128;

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

/// Sees every key while the text is parsed; the finished tree would no longer show a repeated one.
class KeyWatcher {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (!problem_.empty()) return false;
    if (depth > kMaxJsonDepth) {
      problem_ = fmt::format("it is nested deeper than {}", kMaxJsonDepth);
    } else if (event == Json::parse_event_t::object_start) {
      keys_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second)
        problem_ = fmt::format("the key {:?} occurs twice", key);
    }
    return problem_.empty();
  }
  const std::string& problem() const { return problem_; }

 private:
  std::vector<std::set<std::string>> keys_;  // of each open object
  std::string problem_;
};

/// What nlohmann accepts beyond JSON is refused first: a zero byte as the end, a byte order mark.
StatusOr<Json> ParseHeaderText(const std::string& text) {
  if (text.find('\0') != std::string::npos) return DataLossError("it contains a zero byte");
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{')
    return DataLossError("it is no JSON object");
  KeyWatcher watcher;
  Json json;
  try {
    json = Json::parse(text, [&](int depth, Json::parse_event_t event, Json& parsed) {
      return watcher(depth, event, parsed);
    });
  } catch (const Json::exception& error) {
    return DataLossError("it is no JSON: {}", error.what());
  }
  if (!watcher.problem().empty()) return DataLossError("{}", watcher.problem());
  return json;
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
  auto json = ParseHeaderText(text);
  if (!json.ok()) return json.status().WithContext("header");
  return InterpretHeader(*json, data_begin, file_bytes);
}

}  // namespace

StatusOr<SafetensorsHeader> ReadSafetensorsHeader(const std::string& path) {
  INTERLUDE_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(path, O_RDONLY));
  auto header = ReadOpenFile(file, path);
  if (!header.ok()) return header.status().WithContext("safetensors file " + path);
  return header;
}

Status ReadSafetensorsF32(const std::string& path, const SafetensorsHeader& header,
                          const SafetensorsEntry& entry, std::span<float> out) {
  if (entry.dtype != "F32") {
    return InvalidArgumentError("{}: tensor {} is {}, but F32 was to be read", path, entry.name,
                                entry.dtype);
  }
  if (entry.end - entry.begin != out.size_bytes()) {
    return InvalidArgumentError("{}: tensor {} has {} bytes, but {} values were to be read", path,
                                entry.name, entry.end - entry.begin, out.size());
  }
  INTERLUDE_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(path, O_RDONLY));
  return ReadFullyAt(file, header.data_begin + entry.begin, std::as_writable_bytes(out), path);
}

}  // namespace interlude
