#include "base/hash_file.h"

#include <filesystem>
#include <fstream>
#include <vector>

namespace interlude {

StatusOr<Hash128> HashFile(const std::string& path) {
  constexpr size_t kPiece = size_t{1} << 20;
  std::error_code error;
  uint64_t left = std::filesystem::file_size(path, error);  // of nothing but a regular file
  if (error) return ErrnoError(error.value(), fmt::format("{} cannot be read", path));
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(kPiece);
  Hasher128 hasher;
  while (left > 0) {
    const size_t count = std::min<uint64_t>(left, kPiece);
    if (!file.read(piece.data(), static_cast<std::streamsize>(count)))
      return PermissionDeniedError("{} cannot be read", path);
    hasher.Update(std::as_bytes(std::span(piece).first(count)));
    left -= count;
  }
  return hasher.Digest();
}

}  // namespace interlude
