// Small helpers to read what the kernel says in /proc and /sys: whole files, lines, words, numbers.
// Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace interlude {

/// All of a file of the kernel's; nothing where it is absent or may not be read.
/// From the files that this thread keeps open, where it does (KeptProcFiles).
std::optional<std::string> ReadProcText(const std::string& path);

/// All of an open file, from its beginning; nothing where reading fails.
std::optional<std::string> ReadOpenFile(int file);

/// `text` without its first line, which is returned without its end; the loop is
/// `while (!text.empty()) { line = TakeLine(text); ... }`.
std::string_view TakeLine(std::string_view& text);

/// `text` without its first word and the blanks and tabs before it; the word is returned, and is
/// empty where there is none.
std::string_view TakeWord(std::string_view& text);

/// The parts of a line between blanks and tabs.
std::vector<std::string_view> Words(std::string_view line);

/// The decimal number that `word` begins with; nothing without one, or beyond 64 bits.
std::optional<int64_t> Number(std::string_view word);

/// The number after `key` and blanks, where a line begins with `key` ("read_bytes:").
std::optional<int64_t> NumberAfter(std::string_view text, std::string_view key);

/// `number` times `factor`.
std::optional<int64_t> Times(std::optional<int64_t> number, int64_t factor);

}  // namespace interlude
