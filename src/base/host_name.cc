#include "base/host_name.h"

#include <unistd.h>

#include <array>

namespace interlude {

std::string HostName(const std::string& otherwise) {
  // POSIX does not promise a terminator after a name that was cut off: the last byte stays zero.
  std::array<char, 256> name = {};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : otherwise;
}

}  // namespace interlude
