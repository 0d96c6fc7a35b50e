#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "images/layouts.h"

namespace interlude {

StatusOr<std::string> ReadTextFile(const std::string& path, size_t most_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoError(errno, fmt::format("opening {}", path));
  std::string text;
  constexpr size_t kPiece = size_t{1} << 16;
  Status status;
  while (status.ok()) {
    const size_t done = text.size();
    text.resize(done + kPiece);
    const ssize_t got = ::read(fd, text.data() + done, kPiece);
    if (got < 0 && errno == EINTR) {
      text.resize(done);
      continue;
    }
    text.resize(done + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0) status = ErrnoError(errno, fmt::format("reading {}", path));
    if (got == 0) break;
    if (text.size() > most_bytes) {
      status = DataLossError("{}: more than the limit of {} bytes", path, most_bytes);
    }
  }
  ::close(fd);
  if (!status.ok()) return status;
  return text;
}

}  // namespace interlude
