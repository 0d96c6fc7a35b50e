// A number among the texts of a run's meta. Any thread.
#pragma once

#include <charconv>
#include <concepts>
#include <map>
#include <string>

namespace interlude {

/// 0 where the text is no such number, or not there.
template <std::integral Number>
Number MetaNumber(const std::map<std::string, std::string>& meta, const std::string& key) {
  const auto found = meta.find(key);
  Number number = 0;
  if (found == meta.end()) return number;
  const std::string& text = found->second;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace interlude
