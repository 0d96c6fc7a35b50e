#include "base/clean_text.h"

#include <algorithm>

namespace interlude {

// By Unicode's table 3-7.
size_t Utf8CharacterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first < 0xc2   ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (length == 0 || text.size() < length) return 0;
  unsigned char least = 0x80;
  unsigned char most = 0xbf;
  if (first == 0xe0) least = 0xa0;
  if (first == 0xed) most = 0x9f;
  if (first == 0xf0) least = 0x90;
  if (first == 0xf4) most = 0x8f;
  for (size_t i = 1; i < length; ++i) {
    if (byte(i) < least || byte(i) > most) return 0;
    least = 0x80;
    most = 0xbf;
  }
  return length;
}

bool IsForbiddenControl(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return (code < 0x20 && byte != '\n' && byte != '\t') || code == 0x7f;
}

std::string CleanText(std::string_view text, size_t most_bytes) {
  std::string clean;
  clean.reserve(std::min(text.size(), most_bytes));
  while (!text.empty()) {
    const size_t length = Utf8CharacterBytes(text);
    const bool keep = length > 0 && !IsForbiddenControl(text[0]);
    const std::string_view next = keep ? text.substr(0, length) : std::string_view("?");
    if (clean.size() + next.size() > most_bytes) break;
    clean += next;
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return clean;
}

}  // namespace interlude
