// Full models on disk in the safetensors format (8-byte little-endian header length, JSON header,
// data).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "layout/layout.h"

namespace interlude {

/// The header's key for free text, no tensor; and the longest header that readers accept.
inline constexpr std::string_view kSafetensorsMetadataKey = "__metadata__";
inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;

/// Writes the flat fp32 parameters under the layout's names and shapes, with `metadata` (and
/// "format": "pt") in the header. Written to PATH.partial, synced, renamed: PATH is whole or as
/// before. `values` has layout.total_params() floats. Failed system calls come out with errno's
/// text and leave no PATH.partial; names or metadata that are not UTF-8 are InvalidArgument. Makes
/// no copy of the values.
Status WriteSafetensors(const std::string& path, const Layout& layout,
                        std::span<const float> values,
                        const std::map<std::string, std::string>& metadata);

/// How many values a tensor of this shape has; the shape was checked when it came in.
uint64_t ValuesOf(const std::vector<int64_t>& shape);

/// One tensor's place in a file.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // "F32", "BF16", ...
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // bytes from the start of the data section
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
  uint64_t data_begin = 0;  // bytes from the start of the file
};

/// Reads and checks a file's header against its size; refuses what the reference reader refuses
/// (overlaps, holes, overflow, header over 100 MB, text that is no JSON or UTF-8) and duplicate
/// keys. DataLoss says what. Unknown keys inside a tensor's entry are ignored, as the reference
/// does.
StatusOr<SafetensorsHeader> ReadSafetensorsHeader(const std::string& path);

/// Whether ReadSafetensorsFloats reads the type: F32, F16, BF16.
bool IsSafetensorsFloat(std::string_view dtype);

/// Reads the tensor's values from `first` on into `out`, exactly, and takes no other memory.
/// InvalidArgument when the type is none that IsSafetensorsFloat knows or the tensor has fewer
/// values, DataLoss when the file has become shorter than its header says.
Status ReadSafetensorsFloats(const std::string& path, const SafetensorsHeader& header,
                             const SafetensorsEntry& entry, uint64_t first, std::span<float> out);

}  // namespace interlude
