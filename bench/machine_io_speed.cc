// Loopback and disk.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "analysis/spread.h"
#include "base/memory_account.h"
#include "bench/machine_speed.h"
#include "bench/raw_tcp.h"
#include "store/file.h"

namespace interlude {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr int kTcpPasses = 4;  // the first is left out
constexpr size_t kDiskPieceBytes = size_t{1} << 20;

double BytesPerSecond(size_t bytes, Seconds took) {
  return static_cast<double>(bytes) / took.count();
}

Status WriteAndSync(const std::string& path, std::span<const std::byte> bytes) {
  INTERLUDE_ASSIGN_OR_RETURN(const FileDescriptor file,
                             OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC));
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kDiskPieceBytes));
    INTERLUDE_RETURN_IF_ERROR(WriteFully(file, piece, path));
    bytes = bytes.subspan(piece.size());
  }
  return ::fdatasync(file.get()) == 0 ? OkStatus() : ErrnoError(errno, "cannot write " + path);
}

}  // namespace

StatusOr<double> MeasureTcpLoopback(size_t bytes) {
  Buffer from("bench", bytes);
  Buffer to("bench", bytes);
  std::memset(from.bytes().data(), 1, bytes);
  std::vector<double> speeds;
  for (int pass = 0; pass < kTcpPasses; ++pass) {
    INTERLUDE_ASSIGN_OR_RETURN(const Seconds took, TimeRawTcp(from.bytes(), to.bytes()));
    if (pass > 0) speeds.push_back(BytesPerSecond(bytes, took));
  }
  return MedianOf(std::move(speeds));
}

StatusOr<double> MeasureDiskWrite(const std::string& directory, size_t bytes) {
  Buffer from("bench", bytes);
  std::memset(from.bytes().data(), 1, bytes);
  const std::string path = directory + "/disk-speed";
  const auto begin = std::chrono::steady_clock::now();
  const Status written = WriteAndSync(path, from.bytes());
  const Seconds took = std::chrono::steady_clock::now() - begin;
  ::unlink(path.c_str());
  INTERLUDE_RETURN_IF_ERROR(written);
  return BytesPerSecond(bytes, took);
}

}  // namespace interlude
