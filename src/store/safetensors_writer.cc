#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "store/safetensors.h"
#include "store/safetensors_file.h"

namespace interlude {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data are little-endian");

/// Readers map the file and want the data aligned, so the header is padded with spaces to this.
constexpr size_t kHeaderAlignment = 8;

/// The JSON text, padded.
StatusOr<std::string> MakeHeader(const Layout& layout,
                                 const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  auto& notes = header[std::string(kSafetensorsMetadataKey)];
  for (const auto& [key, value] : metadata) notes[key] = value;
  notes["format"] = "pt";
  for (const ParameterSpec& parameter : layout.parameters()) {
    if (parameter.name == kSafetensorsMetadataKey) {
      return InvalidArgumentError("a parameter may not be named {}: safetensors reserves the name",
                                  kSafetensorsMetadataKey);
    }
    const size_t begin = parameter.offset * sizeof(float);
    header[parameter.name] = {{"dtype", "F32"},
                              {"shape", parameter.shape},
                              {"data_offsets", {begin, begin + parameter.count * sizeof(float)}}};
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgumentError("a parameter's name or the metadata is not UTF-8: {}",
                                error.what());
  }
  text.append((kHeaderAlignment - text.size() % kHeaderAlignment) % kHeaderAlignment, ' ');
  if (text.size() > kMaxSafetensorsHeaderBytes) {
    return InvalidArgumentError("the header would have {} bytes, the format's limit is {}",
                                text.size(), kMaxSafetensorsHeaderBytes);
  }
  return text;
}

}  // namespace

StatusOr<SafetensorsFile> SafetensorsFile::Create(
    const std::string& path, const Layout& layout,
    const std::map<std::string, std::string>& metadata) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::string header, MakeHeader(layout, metadata));
  const uint64_t header_bytes = header.size();
  INTERLUDE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  INTERLUDE_RETURN_IF_ERROR(file.Write(std::as_bytes(std::span(&header_bytes, 1))));
  INTERLUDE_RETURN_IF_ERROR(file.Write(std::as_bytes(std::span(header))));
  return SafetensorsFile(std::move(file), sizeof(header_bytes) + header_bytes);
}

Status SafetensorsFile::Write(uint64_t begin, std::span<const float> values) const {
  return file_.WriteAt(data_begin_ + begin * sizeof(float), std::as_bytes(values));
}

Status WriteSafetensors(const std::string& path, const Layout& layout,
                        std::span<const float> values,
                        const std::map<std::string, std::string>& metadata) {
  INTERLUDE_CHECK(values.size() == layout.total_params(), "{} values for a layout of {}",
                  values.size(), layout.total_params());
  INTERLUDE_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Create(path, layout, metadata));
  INTERLUDE_RETURN_IF_ERROR(file.Write(0, values));
  return file.Commit();
}

}  // namespace interlude
