#include "model/position_grid.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

namespace interlude {
namespace {

std::vector<float> ReadLine(std::istream& in) {
  std::string line;
  std::getline(in, line);
  std::istringstream words(line);
  std::vector<float> values;
  for (float value = 0; words >> value;) values.push_back(value);
  return values;
}

TEST(ResizeGrid, GivesPyTorchsBicubicInterpolation) {
  std::ifstream in(INTERLUDE_TESTDATA "/model/positions.txt");
  int cases = 0;
  for (;; ++cases) {
    const std::vector<float> sizes = ReadLine(in);
    if (sizes.size() != 3) break;
    const std::vector<float> from = ReadLine(in);
    const std::vector<float> expected = ReadLine(in);
    std::vector<float> actual(expected.size());
    ResizeGrid(from, static_cast<size_t>(sizes[0]), actual, static_cast<size_t>(sizes[1]),
               static_cast<size_t>(sizes[2]));
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(actual[i], expected[i], 2e-6) << sizes[0] << " to " << sizes[1] << " at " << i;
    }
  }
  EXPECT_EQ(cases, 6);
}

TEST(ResizeGrid, ToItsOwnSizeIsTheSameBits) {
  std::vector<float> from = {0.1f, -2.3f, 1e-8f, 4e5f};
  std::vector<float> to(4);
  ResizeGrid(from, 2, to, 2, 1);
  EXPECT_EQ(from, to);
}

}  // namespace
}  // namespace interlude
