#include "analysis/config_lines.h"

#include <algorithm>

namespace interlude {
namespace {

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

}  // namespace

std::map<std::string, std::string> ConfigLines(std::string_view toml) {
  std::map<std::string, std::string> lines;
  std::string section;
  while (!toml.empty()) {
    const size_t end = std::min(toml.find('\n'), toml.size());
    const std::string_view line = Trim(toml.substr(0, end));
    toml.remove_prefix(std::min(end + 1, toml.size()));
    if (line.starts_with('[') && line.ends_with(']'))
      section = std::string(line.substr(1, line.size() - 2)) + ".";
    const size_t equals = line.find('=');
    if (line.starts_with('#') || line.starts_with('[') || equals == std::string_view::npos)
      continue;
    lines[section + std::string(Trim(line.substr(0, equals)))] = Trim(line.substr(equals + 1));
  }
  return lines;
}

}  // namespace interlude
