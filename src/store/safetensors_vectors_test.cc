// The reference implementation's own test vectors, where they lie beside the source tree.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/safetensors.h"

namespace interlude {
namespace {

TEST(SafetensorsVectors, TheReaderAcceptsAndRefusesWhatTheReferenceDoes) {
  const std::string directory = INTERLUDE_SHARED_DATA "/safetensors-upstream-vectors";
  std::ifstream expectations(directory + "/EXPECTED.tsv");
  if (!expectations) GTEST_SKIP() << "no test vectors at " << directory;
  std::string line;
  std::getline(expectations, line);  // the headings
  int accepted = 0;
  int refused = 0;
  while (std::getline(expectations, line)) {
    std::istringstream fields(line);
    std::string file, bytes, expected;
    ASSERT_TRUE(std::getline(fields, file, '\t') && std::getline(fields, bytes, '\t') &&
                std::getline(fields, expected));
    ASSERT_EQ(std::filesystem::file_size(directory + "/" + file), std::stoull(bytes)) << file;
    const auto header = ReadSafetensorsHeader(directory + "/" + file);
    EXPECT_EQ(header.ok(), expected == "ok") << file << ": " << header.status().ToString();
    if (!header.ok()) {
      EXPECT_EQ(header.status().code(), StatusCode::kDataLoss) << file;
    }
    ++(header.ok() ? accepted : refused);
  }
  EXPECT_GE(accepted, 6);
  EXPECT_GE(refused, 12);
}

}  // namespace
}  // namespace interlude
