#include "store/strict_json.h"

#include <set>
#include <vector>

namespace interlude {
namespace {

using Json = nlohmann::json;

/// Deeper nesting than any header needs; the reference parser stops at 128 as well.
constexpr int kMaxJsonDepth = 128;

/// Sees every key while the text is parsed; the finished tree would no longer show a repeated one.
class KeyWatcher {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (!problem_.empty()) return false;
    if (depth > kMaxJsonDepth) {
      problem_ = fmt::format("it is nested deeper than {}", kMaxJsonDepth);
    } else if (event == Json::parse_event_t::object_start) {
      keys_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second)
        problem_ = fmt::format("the key {:?} occurs twice", key);
    }
    return problem_.empty();
  }
  const std::string& problem() const { return problem_; }

 private:
  std::vector<std::set<std::string>> keys_;  // of each open object
  std::string problem_;
};

}  // namespace

/// What nlohmann accepts beyond JSON is refused first: a zero byte as the end, a byte order mark.
StatusOr<nlohmann::json> ParseStrictJson(const std::string& text) {
  if (text.find('\0') != std::string::npos) return DataLossError("it contains a zero byte");
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{')
    return DataLossError("it is no JSON object");
  KeyWatcher watcher;
  Json json;
  try {
    json = Json::parse(text, [&](int depth, Json::parse_event_t event, Json& parsed) {
      return watcher(depth, event, parsed);
    });
  } catch (const Json::exception& error) {
    return DataLossError("it is no JSON: {}", error.what());
  }
  if (!watcher.problem().empty()) return DataLossError("{}", watcher.problem());
  return json;
}

}  // namespace interlude
