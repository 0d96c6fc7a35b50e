#include "wire/field_checks.h"

#include <algorithm>
#include <cmath>

#include "base/clean_text.h"

namespace interlude::internal {

Status CheckText(std::string_view field, const std::string& text, size_t most_bytes) {
  if (text.size() > most_bytes) {
    return InvalidArgumentError("{} has {} bytes, the limit is {}", field, text.size(), most_bytes);
  }
  const auto bad = std::find_if(text.begin(), text.end(), IsForbiddenControl);
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
