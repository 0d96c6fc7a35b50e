// Numbers in LEB128, as the blobs of run.db have them: seven bits to a byte, the lowest first; the
// top bit says that more follow. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace interlude {

/// 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
inline uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

inline int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

inline void PutLeb128(uint64_t value, std::string& bytes) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}

/// Takes a number off the front of bytes. Returns what is wrong with them, or "": a number that is
/// longer than it needs to be is none of PutLeb128's, so that the same numbers are the same bytes.
inline std::string_view TakeLeb128(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) return "end within a number";
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    if (shift == 63 && byte > 1) break;
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte == 0 && shift > 0) return "hold an overlong number";
    if (byte < 0x80) return "";
  }
  return "hold a number of more than 64 bits";
}

}  // namespace interlude
