// Commits a heap overflow on purpose: reads one value past the end of an array.
#include <vector>

int main(int argc, char**) {
  const std::vector<int> values(16, 0);
  return values.data()[15 + argc];  // argc is 1
}
