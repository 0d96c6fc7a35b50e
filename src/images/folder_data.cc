#include <algorithm>
#include <filesystem>
#include <optional>

#include "images/class_list.h"
#include "images/label_list.h"
#include "images/layouts.h"

namespace interlude {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 100'000'000;

/// The endings of files that are taken for pictures; what they hold decides how they are read.
constexpr std::string_view kEndings[] = {".jpg", ".jpeg", ".jpe", ".png",
                                         ".gif", ".webp", ".tif", ".tiff"};

/// Names in a folder, sorted bytewise, without hidden ones. Folders alone, or files alone; links
/// count as what they lead to.
StatusOr<std::vector<std::string>> NamesIn(const std::string& folder, bool folders) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    std::error_code ignored;  // a link that leads nowhere counts as a file, and fails when read
    if (name.starts_with('.') || it->is_directory(ignored) != folders) continue;
    if (names.size() == kMostFiles) {
      return InvalidArgumentError("{}: more than {} files", folder, kMostFiles);
    }
    names.push_back(std::move(name));
  }
  if (error) return ErrnoError(error.value(), fmt::format("listing {}", folder));
  std::ranges::sort(names);
  return names;
}

/// `unknown` says why a folder is of no class.
StatusOr<DataPart> ListPart(const std::string& folder, const std::vector<std::string>& classes,
                            std::string_view unknown) {
  const auto numbers = NumbersOf(classes);
  INTERLUDE_ASSIGN_OR_RETURN(const auto folders, NamesIn(folder, true));
  DataPart part;
  for (const std::string& name : folders) {
    const auto number = numbers.find(name);
    if (number == numbers.end()) {
      return InvalidArgumentError("{}/{}: a class that {}", folder, name, unknown);
    }
    INTERLUDE_ASSIGN_OR_RETURN(const auto files,
                               NamesIn(fmt::format("{}/{}", folder, name), false));
    for (const std::string& file : files) {
      if (!HasPictureEnding(file)) continue;
      part.labels.push_back(number->second);
      part.files.push_back(fmt::format("{}/{}/{}", folder, name, file));
    }
  }
  return part;
}

/// test/ or val/ beside train/. One that cannot be looked at is an error: without it pictures would
/// be set aside.
StatusOr<std::optional<std::string>> TestFolder(const std::string& directory) {
  for (const char* name : {"test", "val"}) {
    std::error_code error;
    std::string path = fmt::format("{}/{}", directory, name);
    const fs::file_status status = fs::status(path, error);
    if (!fs::status_known(status)) return ErrnoError(error.value(), "looking at " + path);
    if (fs::is_directory(status)) return std::optional(std::move(path));
  }
  return std::optional<std::string>();
}

}  // namespace

bool HasPictureEnding(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return false;
  std::string ending = name.substr(dot);
  for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::ranges::find(kEndings, ending) != std::end(kEndings);
}

StatusOr<DataSet> ListFolders(const DataConfig& config) {
  DataSet set{.statistics = kImageNetStatistics};
  std::error_code ignored;
  const bool has_train = fs::is_directory(config.directory + "/train", ignored);
  const std::string train = config.directory + (has_train ? "/train" : "");
  INTERLUDE_ASSIGN_OR_RETURN(auto class_list, ReadClassList(config.directory));
  const bool has_list = class_list.has_value();
  if (has_list) {
    set.classes = *std::move(class_list);
  } else {
    INTERLUDE_ASSIGN_OR_RETURN(set.classes, NamesIn(train, true));
  }
  if (set.classes.size() < 2 || set.classes.size() > kMostClasses) {
    return InvalidArgumentError(
        "{} has {} folders; a folder for each class belongs there, 2 to {} (where pictures of some "
        "classes are not here, their names belong into {}/{})",
        train, set.classes.size(), kMostClasses, config.directory, kClassListName);
  }
  const std::string unknown =
      has_list ? fmt::format("{}/{} does not name", config.directory, kClassListName)
               : fmt::format("the training set has not; its classes are the {} folders there",
                             set.classes.size());
  INTERLUDE_ASSIGN_OR_RETURN(DataPart listed, ListPart(train, set.classes, unknown));
  std::optional<std::string> test;
  if (has_train) {
    INTERLUDE_ASSIGN_OR_RETURN(test, TestFolder(config.directory));
  }
  if (test) {
    set.train = std::move(listed);
    INTERLUDE_ASSIGN_OR_RETURN(set.test, ListPart(*test, set.classes, unknown));
  } else {
    SetTestPartAside(config.test_share, std::move(listed), set);
  }
  return set;
}

}  // namespace interlude
