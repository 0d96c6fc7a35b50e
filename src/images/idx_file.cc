#include "images/idx_file.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>

namespace interlude {

namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr size_t kMaxReadBytes = size_t{1} << 30;  // gzread's length is 32 bits
constexpr uint8_t kUnsignedByteType = 0x08;

struct CloseGz {
  void operator()(gzFile file) const { gzclose(file); }
};
using GzFile = std::unique_ptr<gzFile_s, CloseGz>;

// Reads until `out` is full or the file ends; returns the number of bytes read.
StatusOr<size_t> ReadUpTo(gzFile file, const std::string& path, std::span<uint8_t> out) {
  size_t done = 0;
  while (done < out.size()) {
    const auto want = static_cast<unsigned>(std::min(out.size() - done, kMaxReadBytes));
    const int got = gzread(file, out.data() + done, want);
    int error = Z_OK;
    const char* text = gzerror(file, &error);
    if (got < 0 || error == Z_BUF_ERROR) {
      return DataLossError("{}: damaged or truncated gzip stream ({}); install the file again",
                           path, text);
    }
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

uint32_t BigEndian32(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 |
         uint32_t{bytes[3]};
}

StatusOr<std::vector<uint32_t>> ReadDimensions(gzFile file, const std::string& path,
                                               uint32_t num_dimensions) {
  std::vector<uint8_t> header(4 + 4 * size_t{num_dimensions});
  INTERLUDE_ASSIGN_OR_RETURN(const size_t got, ReadUpTo(file, path, header));
  if (got >= 4 && (header[0] != 0 || header[1] != 0 || header[2] != kUnsignedByteType ||
                   header[3] != num_dimensions)) {
    return DataLossError(
        "{}: begins with {:02x}{:02x}{:02x}{:02x}, an idx file of bytes with {} dimensions "
        "with 0000{:02x}{:02x}",
        path, header[0], header[1], header[2], header[3], num_dimensions, kUnsignedByteType,
        num_dimensions);
  }
  if (got < header.size()) {
    return DataLossError("{}: {} bytes, too short for the {} bytes of its header", path, got,
                         header.size());
  }
  std::vector<uint32_t> dimensions;
  for (uint32_t i = 0; i < num_dimensions; ++i)
    dimensions.push_back(BigEndian32(&header[4 + 4 * i]));
  return dimensions;
}

// The product, bounded at each step, so that it cannot overflow.
StatusOr<uint64_t> CheckedBytes(const std::vector<uint32_t>& dimensions, const std::string& path) {
  uint64_t bytes = 1;
  for (const uint32_t dimension : dimensions) {
    bytes *= dimension;
    if (bytes > kMaxIdxBytes) {
      return DataLossError("{}: claims more than the limit of {} bytes", path, kMaxIdxBytes);
    }
  }
  return bytes;
}

// Asks for one byte more than there should be, in the same read as the last bytes: only then does
// zlib look for the end of the stream and its checksum.
StatusOr<std::vector<uint8_t>> ReadBytes(gzFile file, const std::string& path, uint64_t count) {
  std::vector<uint8_t> bytes;
  uint64_t done = 0;
  while (done <= count) {
    const uint64_t rest = count + 1 - done;
    const uint64_t want = rest <= 2 * kPieceBytes ? rest : kPieceBytes;
    bytes.resize(done + want);
    INTERLUDE_ASSIGN_OR_RETURN(const size_t got,
                               ReadUpTo(file, path, std::span(bytes).subspan(done)));
    done += got;
    if (got < want) break;
  }
  if (done < count)
    return DataLossError("{}: ends after {} bytes of data, its header says {}", path, done, count);
  if (done > count)
    return DataLossError("{}: holds more than the {} bytes its header says", path, count);
  bytes.resize(count);
  return bytes;
}

}  // namespace

StatusOr<IdxFile> ReadIdxFile(const std::string& path, uint32_t num_dimensions) {
  errno = 0;
  const GzFile file(gzopen(path.c_str(), "rb"));
  if (file == nullptr)
    return ErrnoError(errno == 0 ? ENOMEM : errno, fmt::format("opening {}", path));
  IdxFile idx;
  INTERLUDE_ASSIGN_OR_RETURN(idx.dimensions, ReadDimensions(file.get(), path, num_dimensions));
  INTERLUDE_ASSIGN_OR_RETURN(const uint64_t count, CheckedBytes(idx.dimensions, path));
  INTERLUDE_ASSIGN_OR_RETURN(idx.bytes, ReadBytes(file.get(), path, count));
  return idx;
}

}  // namespace interlude
