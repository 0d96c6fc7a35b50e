#include "images/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace interlude {
namespace {

/// What the path itself is to blame for is the file's fault, as one that is not there.
Status CannotOpen(int error, const std::string& path) {
  if (error == ENXIO) return DataLossError("{}: no regular file", path);  // a socket
  const Status status = ErrnoError(error, fmt::format("opening {}", path));
  const bool wrong_path = error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG;
  return wrong_path ? Status(StatusCode::kNotFound, status.message()) : status;
}

/// A named pipe would be waited for, a folder or a device is no text.
Status CheckRegular(int fd, const std::string& path) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return ErrnoError(errno, fmt::format("looking at {}", path));
  return S_ISREG(facts.st_mode) ? OkStatus() : DataLossError("{}: no regular file", path);
}

}  // namespace

StatusOr<std::string> ReadTextFile(const std::string& path, size_t most_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return CannotOpen(errno, path);
  std::string text;
  constexpr size_t kPiece = size_t{1} << 16;
  Status status = CheckRegular(fd, path);
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
