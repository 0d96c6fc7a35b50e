// For tests: a made-up /proc and /sys in a directory of its own.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/check.h"

namespace interlude {

/// Gone with this object.
class FakeRoot {
 public:
  FakeRoot() : path_(std::filesystem::temp_directory_path() / "root-XXXXXX") {
    INTERLUDE_CHECK(::mkdtemp(path_.data()) != nullptr, "no temporary directory");
  }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  /// Makes or replaces the file below the root: `path` begins with a slash.
  void File(std::string_view path, std::string_view text) {
    const std::filesystem::path full = path_ + std::string(path);
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  void Remove(std::string_view path) { std::filesystem::remove_all(path_ + std::string(path)); }

  /// What stands before "/proc".
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace interlude
