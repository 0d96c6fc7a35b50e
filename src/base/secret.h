// Comparing secrets without telling by the time it takes how far they agree.
#pragma once

#include <cstddef>
#include <string_view>

namespace interlude {

/// Whether both are the same bytes. The time depends on `expected`'s length and on nothing else.
inline bool EqualInConstantTime(std::string_view expected, std::string_view given) {
  // volatile: the compiler may not stop at the first difference.
  volatile unsigned char difference = expected.size() == given.size() ? 0 : 1;
  for (size_t i = 0; i < expected.size(); ++i) {
    const char other = given.empty() ? '\0' : given[i % given.size()];
    difference = static_cast<unsigned char>(difference | (expected[i] ^ other));
  }
  return difference == 0;
}

}  // namespace interlude
