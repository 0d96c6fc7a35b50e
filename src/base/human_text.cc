#include "base/human_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace interlude {

std::string HumanSeconds(double seconds) {
  if (seconds >= 3600) {
    const auto minutes = static_cast<int64_t>(std::min(seconds / 60, 9e15));
    return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
  }
  if (seconds >= 0.9995) return fmt::format("{:.{}f} s", seconds, seconds < 9.995 ? 2 : 1);
  if (seconds >= 0.0009995)
    return fmt::format("{:.{}f} ms", 1e3 * seconds, seconds < 0.09995 ? 1 : 0);
  if (seconds <= 0) return "0 ms";
  return fmt::format("{:.0f} us", 1e6 * seconds);
}

std::string HumanNs(int64_t ns) { return HumanSeconds(static_cast<double>(ns) / 1e9); }

std::string HumanBytes(double bytes) {
  if (bytes < 1e4) return fmt::format("{:.0f} bytes", bytes);
  if (bytes < 1e5) return fmt::format("{:.1f} kB", bytes / 1e3);
  if (bytes < 1e9) return fmt::format("{:.{}f} MB", bytes / 1e6, bytes < 1e8 ? 2 : 1);
  return fmt::format("{:.2f} GB", bytes / 1e9);
}

std::string HumanCount(double number) {
  std::string text = fmt::format("{:.0f}", number);
  const size_t first_digit = text.starts_with('-') ? 1 : 0;
  if (!std::isfinite(number)) return text;
  for (size_t place = text.size(); place > first_digit + 3; place -= 3) text.insert(place - 3, ",");
  return text;
}

std::string Count(double number, std::string_view word) {
  return HumanCount(number) + " " + std::string(word) + (number == 1 ? "" : "s");
}

}  // namespace interlude
