#include "wire/field_checks.h"

#include <algorithm>
#include <cmath>

namespace interlude::internal {
namespace {

bool IsForbiddenControl(unsigned char byte) {
  return (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
}

/// Bytes of the well-formed UTF-8 character that begins `text`, 0 when there is none (Unicode,
/// table 3-7).
size_t CharacterBytes(std::string_view text) {
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

}  // namespace

std::string CleanText(std::string_view text, size_t most_bytes) {
  std::string clean;
  clean.reserve(std::min(text.size(), most_bytes));
  while (!text.empty()) {
    const size_t length = CharacterBytes(text);
    const bool keep = length > 0 && !IsForbiddenControl(static_cast<unsigned char>(text[0]));
    const std::string_view next = keep ? text.substr(0, length) : std::string_view("?");
    if (clean.size() + next.size() > most_bytes) break;
    clean += next;
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return clean;
}

Status CheckText(std::string_view field, const std::string& text, size_t most_bytes) {
  if (text.size() > most_bytes) {
    return InvalidArgumentError("{} has {} bytes, the limit is {}", field, text.size(), most_bytes);
  }
  const auto bad = std::find_if(text.begin(), text.end(), [](char c) {
    return IsForbiddenControl(static_cast<unsigned char>(c));
  });
  if (bad != text.end()) {
    return InvalidArgumentError("{} has the control character {:#04x} at byte {}", field,
                                static_cast<unsigned char>(*bad), bad - text.begin());
  }
  return OkStatus();
}

Status CheckRange(std::string_view field, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return OkStatus();
  return InvalidArgumentError("{} is {}, but must be {} to {}", field, value, least, most);
}

Status CheckAtMost(std::string_view field, uint64_t value, uint64_t most) {
  if (value <= most) return OkStatus();
  return InvalidArgumentError("{} is {}, the limit is {}", field, value, most);
}

Status CheckFinite(std::string_view field, double value) {
  if (std::isfinite(value)) return OkStatus();
  return InvalidArgumentError("{} is {}, but must be finite", field, value);
}

}  // namespace interlude::internal
