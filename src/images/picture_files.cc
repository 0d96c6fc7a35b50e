#include "images/picture_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/status.h"
#include "images/layouts.h"

namespace interlude {
namespace {

namespace fs = std::filesystem;

/// The pictures of one folder; folders in it come to `below`.
Status ListFolder(const std::string& folder, std::vector<std::string>& files,
                  std::vector<std::string>& below) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code ignored;  // what cannot be looked at fails when it is read
    if (it->symlink_status(ignored).type() == fs::file_type::directory) {
      below.push_back(it->path().string());
    } else if (HasPictureEnding(name)) {
      files.push_back(it->path().string());
    }
  }
  return error ? ErrnoError(error.value(), folder) : OkStatus();
}

}  // namespace

void AddPictureFiles(const std::string& path, PictureFiles& list) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    list.files.push_back(path);
    return;
  }
  std::vector<std::string> files, folders = {path};
  bool all_listed = true;
  while (!folders.empty()) {
    const std::string folder = std::move(folders.back());
    folders.pop_back();
    const Status status = ListFolder(folder, files, folders);
    if (status.ok()) continue;
    all_listed = false;
    list.unreadable.push_back(status.message());
  }
  if (files.empty() && all_listed) {
    list.unreadable.push_back(fmt::format("{}: no pictures in this folder", path));
  }
  std::ranges::sort(files);
  std::ranges::move(files, std::back_inserter(list.files));
}

std::vector<std::string> SplitPaths(std::string_view text) {
  const char separator = text.find('\0') == std::string_view::npos ? '\n' : '\0';
  std::vector<std::string> paths;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) paths.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return paths;
}

}  // namespace interlude
