#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "store/snapshot.h"

namespace interlude {
namespace {

constexpr std::string_view kPrefix = "snapshot-";
constexpr std::string_view kSuffix = ".snapshot";
constexpr std::string_view kPartial = ".partial";

std::string SnapshotName(uint32_t round) {
  return fmt::format("{}{:08}{}", kPrefix, round, kSuffix);
}

/// The round of a snapshot's name; nothing for other names.
std::optional<uint32_t> RoundOf(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  uint32_t round = 0;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), round);
  if (name != SnapshotName(round)) return std::nullopt;
  return round;
}

StatusOr<std::vector<std::string>> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) return ErrnoError(error.value(), "listing " + directory);
  return names;
}

}  // namespace

std::string SnapshotPath(const std::string& directory, uint32_t round) {
  return directory + "/" + SnapshotName(round);
}

StatusOr<std::vector<std::string>> NewestSnapshots(const std::string& directory) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(directory));
  std::vector<uint32_t> rounds;
  for (const std::string& name : names) {
    if (const auto round = RoundOf(name)) rounds.push_back(*round);
  }
  std::ranges::sort(rounds, std::greater());
  std::vector<std::string> paths;
  for (const uint32_t round : rounds) paths.push_back(SnapshotPath(directory, round));
  return paths;
}

Status PruneSnapshots(const std::string& directory, size_t keep) {
  INTERLUDE_ASSIGN_OR_RETURN(std::vector<std::string> paths, NewestSnapshots(directory));
  paths.erase(paths.begin(), paths.begin() + static_cast<ptrdiff_t>(std::min(keep, paths.size())));
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(directory));
  for (const std::string& name : names) {
    if (name.ends_with(kPartial) &&
        RoundOf(std::string_view(name).substr(0, name.size() - kPartial.size())))
      paths.push_back(directory + "/" + name);
  }
  for (const std::string& path : paths) {
    std::error_code error;
    std::filesystem::remove(path, error);
    if (error) return ErrnoError(error.value(), "removing " + path);
  }
  return OkStatus();
}

}  // namespace interlude
