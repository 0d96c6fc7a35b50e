// For tests: a directory of its own that goes away with the object, and whole files in and out of
// memory.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/check.h"

namespace interlude {

class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& parent = testing::TempDir())
      : path_(parent + "/store-XXXXXX") {
    INTERLUDE_CHECK(::mkdtemp(path_.data()) != nullptr, "no temporary directory in {}", parent);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

inline std::string ReadWholeFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  INTERLUDE_CHECK(in.good(), "cannot open {}", path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void WriteWholeFile(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  INTERLUDE_CHECK(out.flush().good(), "cannot write {}", path);
}

}  // namespace interlude
