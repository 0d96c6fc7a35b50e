#include "cli/log_tail.h"

#include <algorithm>
#include <fstream>

namespace interlude {

std::vector<std::string> LastLines(const std::string& path, size_t count) {
  constexpr std::streamoff kMostBytes = 64 << 10;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  const bool cut = size > kMostBytes;
  file.seekg(cut ? size - kMostBytes : 0);

  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  if (cut && !lines.empty()) lines.erase(lines.begin());  // begins in the middle
  if (lines.size() > count)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(count));
  return lines;
}

}  // namespace interlude
