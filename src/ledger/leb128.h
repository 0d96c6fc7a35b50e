// Numbers in LEB128, as the blobs of run.db have them: seven bits to a byte, the lowest first; the
// top bit says that more follow. Any thread.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
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

/// The number that `word`, eight bytes in order, begins with, and how many of them it takes: 0
/// where it does not end among them. Without a branch for each byte: numbers of one, two and three
/// bytes come mixed, so that a processor guesses wrong at every other one.
inline size_t FirstLeb128(uint64_t word, uint64_t& value) {
  const uint64_t ends = ~word & 0x8080808080808080;
  if (ends == 0) return 0;
  word &= (ends ^ (ends - 1)) & 0x7f7f7f7f7f7f7f7f;  // the first number's bytes, their lower 7 bits
  word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
  word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
  value = (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
  return static_cast<size_t>(std::countr_zero(ends)) / 8 + 1;
}

/// Takes a number off the front of bytes. Returns what is wrong with them, or "": a number that is
/// longer than it needs to be is none of PutLeb128's, so that the same numbers are the same bytes.
inline std::string_view TakeLeb128(std::string_view& bytes, uint64_t& value) {
  if (bytes.size() >= sizeof(uint64_t) && std::endian::native == std::endian::little) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    const size_t length = FirstLeb128(word, value);
    if (length == 1 || (length > 1 && bytes[length - 1] != 0)) {
      bytes.remove_prefix(length);
      return "";
    }
  }
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
