#include "base/hash_file.h"

#include <gtest/gtest.h>

#include <fstream>

namespace interlude {
namespace {

std::string Write(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(HashFile, IsTheHashOfItsBytesWhateverItsLength) {
  for (const size_t length : {size_t{0}, size_t{5}, size_t{1} << 20, (size_t{5} << 20) + 3}) {
    std::string bytes(length, 'a');
    if (length > 0) bytes.back() = 'b';
    const auto hash = HashFile(Write("hash_file", bytes));
    ASSERT_TRUE(hash.ok()) << hash.status().ToString();
    EXPECT_EQ(*hash, HashBytes(std::as_bytes(std::span(bytes)))) << length;
  }
}

TEST(HashFile, NamesAFileThatIsNone) {
  const std::string missing = testing::TempDir() + "/no-such-file";
  EXPECT_EQ(HashFile(missing).status().code(), StatusCode::kNotFound);
  EXPECT_NE(HashFile(missing).status().message().find(missing), std::string::npos);
  EXPECT_FALSE(HashFile(testing::TempDir()).ok());
}

}  // namespace
}  // namespace interlude
