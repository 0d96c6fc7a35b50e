#include "base/proc_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/kept_proc_files.h"

namespace interlude {

std::optional<std::string> ReadOpenFile(int file) {
  std::string text;
  // Most of these files are made when they are read, and a second read costs as much as the first.
  constexpr size_t kStep = 16384;
  // The kernel stops before the line that its page of 4 KiB has no room for, and no earlier; and no
  // line is 3 KiB long.
  constexpr ssize_t kMayGoOn = 1024;
  ssize_t got = 0;
  do {
    const size_t before = text.size();
    text.resize(before + kStep);
    got = ::pread(file, text.data() + before, kStep, static_cast<off_t>(before));
    text.resize(before + static_cast<size_t>(got > 0 ? got : 0));
  } while (got >= kMayGoOn);
  if (got < 0) return std::nullopt;
  return text;
}

std::optional<std::string> ReadProcText(const std::string& path) {
  if (KeptProcFiles* const kept = KeptProcFiles::InUse()) return kept->Read(path);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  auto text = ReadOpenFile(file);
  ::close(file);
  return text;
}

std::string_view TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string_view TakeWord(std::string_view& text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const size_t end = std::min(text.find_first_of(" \t", begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::string_view word = TakeWord(line); !word.empty(); word = TakeWord(line))
    words.push_back(word);
  return words;
}

std::optional<int64_t> Number(std::string_view word) {
  int64_t number = 0;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  return number;
}

std::optional<int64_t> NumberAfter(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = TakeLine(text);
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    const size_t digit = line.find_first_not_of(" \t");
    if (digit == std::string_view::npos) return std::nullopt;
    return Number(line.substr(digit));
  }
  return std::nullopt;
}

std::optional<int64_t> Times(std::optional<int64_t> number, int64_t factor) {
  int64_t product = 0;
  if (!number || __builtin_mul_overflow(*number, factor, &product)) return std::nullopt;
  return product;
}

}  // namespace interlude
