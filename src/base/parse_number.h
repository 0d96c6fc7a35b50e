// Whole numbers in texts that people and programs write. Any thread.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

namespace interlude {

/// The decimal number that the whole text is; nothing where it is another text, or does not fit.
template <std::unsigned_integral T>
std::optional<T> ParseNumber(std::string_view text) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace interlude
