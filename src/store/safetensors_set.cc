#include "store/safetensors_set.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "store/file.h"
#include "store/strict_json.h"

namespace interlude {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMapKey = "weight_map";

StatusOr<std::string> ReadText(const std::string& path) {
  INTERLUDE_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(path, O_RDONLY));
  INTERLUDE_ASSIGN_OR_RETURN(const uint64_t bytes, FileSize(file, path));
  if (bytes > kMaxSafetensorsHeaderBytes) {
    return DataLossError("it has {} bytes, the limit is {}", bytes, kMaxSafetensorsHeaderBytes);
  }
  std::string text(bytes, ' ');
  INTERLUDE_RETURN_IF_ERROR(ReadFullyAt(file, 0, std::as_writable_bytes(std::span(text)), path));
  return text;
}

bool IsPlainName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

StatusOr<SafetensorsIndex> ParseIndex(const std::string& text) {
  INTERLUDE_ASSIGN_OR_RETURN(const nlohmann::json json, ParseStrictJson(text));
  const auto map = json.find(kMapKey);
  if (map == json.end() || !map->is_object()) return DataLossError("it has no object {}", kMapKey);
  SafetensorsIndex index;
  for (const auto& [name, file] : map->items()) {
    if (!file.is_string() || !IsPlainName(file.get_ref<const std::string&>())) {
      return DataLossError("tensor {:?} is to be in {}, which is no name of a file beside it", name,
                           file.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
    }
    index.emplace(name, file.get<std::string>());
  }
  return index;
}

StatusOr<std::string> FindInDirectory(const std::string& directory) {
  std::error_code error;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    const std::string path = directory + "/" + name;
    if (fs::exists(path, error)) return path;
  }
  std::vector<std::string> found;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".safetensors") found.push_back(it->path().string());
  }
  if (error) return UnavailableError("cannot list {}: {}", directory, error.message());
  if (found.size() == 1) return found.front();
  return NotFoundError(
      "{} holds neither model.safetensors nor model.safetensors.index.json, and {} other "
      "safetensors files: name one",
      directory, found.size());
}

}  // namespace

StatusOr<SafetensorsIndex> ReadSafetensorsIndex(const std::string& path) {
  auto text = ReadText(path);
  if (!text.ok()) return text.status().WithContext("index " + path);
  auto index = ParseIndex(*text);
  if (!index.ok()) return index.status().WithContext("index " + path);
  return index;
}

StatusOr<SafetensorsSet> SafetensorsSet::Open(const std::string& path) {
  SafetensorsSet set;
  set.path_ = path;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    INTERLUDE_ASSIGN_OR_RETURN(set.path_, FindInDirectory(path));
  }
  const bool is_index = fs::path(set.path_).extension() == ".json";
  INTERLUDE_RETURN_IF_ERROR(is_index ? set.TakeIndex(set.path_) : set.TakeFile(set.path_));
  std::ranges::sort(set.tensors_, {},
                    [](const Tensor& tensor) -> const std::string& { return tensor.entry.name; });
  return set;
}

void SafetensorsSet::Keep(const SafetensorsEntry& entry, size_t file) {
  tensors_.push_back({.entry = entry, .count = ValuesOf(entry.shape), .file = file});
}

Status SafetensorsSet::TakeFile(const std::string& path) {
  INTERLUDE_ASSIGN_OR_RETURN(SafetensorsHeader header, ReadSafetensorsHeader(path));
  for (const SafetensorsEntry& entry : header.entries) {
    Keep(entry, files_.size());
  }
  files_.push_back({.path = path, .header = std::move(header)});
  return OkStatus();
}

Status SafetensorsSet::TakeIndex(const std::string& path) {
  INTERLUDE_ASSIGN_OR_RETURN(const SafetensorsIndex index, ReadSafetensorsIndex(path));
  std::map<std::string, std::vector<std::string>> names_of;  // by file
  for (const auto& [name, file] : index) names_of[file].push_back(name);
  for (const auto& [file, names] : names_of) {
    const std::string shard = (fs::path(path).parent_path() / file).string();
    auto header = ReadSafetensorsHeader(shard);
    if (!header.ok()) return header.status().WithContext("index " + path);
    std::map<std::string_view, const SafetensorsEntry*> entries;
    for (const SafetensorsEntry& entry : header->entries) entries[entry.name] = &entry;
    for (const std::string& name : names) {
      const auto entry = entries.find(name);
      if (entry == entries.end()) {
        return DataLossError("index {}: tensor {:?} is to be in {}, which does not hold it", path,
                             name, file);
      }
      Keep(*entry->second, files_.size());
    }
    files_.push_back({.path = shard, .header = *std::move(header)});
  }
  return OkStatus();
}

const SafetensorsSet::Tensor* SafetensorsSet::Find(std::string_view name) const {
  const auto it = std::ranges::lower_bound(
      tensors_, name, {},
      [](const Tensor& tensor) -> std::string_view { return tensor.entry.name; });
  return it == tensors_.end() || it->entry.name != name ? nullptr : &*it;
}

Status SafetensorsSet::Read(const Tensor& tensor, uint64_t first, std::span<float> out) const {
  const File& file = files_[tensor.file];
  return ReadSafetensorsFloats(file.path, file.header, tensor.entry, first, out);
}

}  // namespace interlude
