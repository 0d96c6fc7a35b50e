#include "images/class_list.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <unordered_map>

#include "images/data_set.h"
#include "images/text_file.h"

namespace interlude {
namespace {

constexpr size_t kMostListBytes = size_t{256} << 20;

StatusOr<std::vector<std::string>> ParseClassList(std::string_view text, std::string_view path) {
  std::vector<std::string> names;
  std::unordered_map<std::string_view, uint32_t> lines;
  uint32_t line = 0;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view name = text.substr(at, end - at);
    ++line;
    at = end + 1;
    if (name.ends_with('\r')) name.remove_suffix(1);
    if (name.empty()) continue;
    const auto [before, is_new] = lines.emplace(name, line);
    if (!is_new) {
      return InvalidArgumentError("{}:{}: class \"{}\" stands in line {} already", path, line, name,
                                  before->second);
    }
    names.emplace_back(name);
  }
  if (names.size() < 2 || names.size() > kMostClasses) {
    return InvalidArgumentError("{} names {} classes; there are 2 to {}", path, names.size(),
                                kMostClasses);
  }
  return names;
}

}  // namespace

StatusOr<std::optional<std::vector<std::string>>> ReadClassList(const std::string& directory) {
  using Names = std::optional<std::vector<std::string>>;
  const std::string path = fmt::format("{}/{}", directory, kClassListName);
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error);
  if (error) return ErrnoError(error.value(), "looking at " + path);
  if (!is_there) return Names();
  INTERLUDE_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMostListBytes));
  INTERLUDE_ASSIGN_OR_RETURN(std::vector<std::string> names, ParseClassList(text, path));
  return Names(std::move(names));
}

}  // namespace interlude
