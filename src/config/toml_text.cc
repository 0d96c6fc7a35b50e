#include "config/toml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <tuple>

namespace interlude {
[[noreturn]] static void ThrowTomlAssertion(const char* condition) {
  throw std::logic_error(condition);
}
}  // namespace interlude

// The library asserts on some malformed texts and, without assertions, tells the compiler that they
// cannot be. A text must never do more than fail, so in every kind of build its assertions throw.
#undef NDEBUG
#define TOML_ASSERT(condition) ((condition) ? void() : ::interlude::ThrowTomlAssertion(#condition))
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace interlude {
namespace {

// Bounds the depth of nesting too: dotted keys nest without limit, and tables are freed
// recursively.
constexpr size_t kMostBytes = 16 * 1024;

TomlValue ScalarOf(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return node.as_string()->get();
    case toml::node_type::integer:
      return node.as_integer()->get();
    case toml::node_type::floating_point:
      return node.as_floating_point()->get();
    case toml::node_type::boolean:
      return node.as_boolean()->get();
    case toml::node_type::array:
      return TomlOther{"an array"};
    case toml::node_type::table:
      return TomlOther{"a table"};
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      return TomlOther{"a date or time"};
    case toml::node_type::none:
      break;
  }
  return TomlOther{"nothing"};
}

TomlEntry EntryOf(std::string key_text, const toml::key& key, const toml::node& node) {
  TomlEntry entry{.key = std::move(key_text), .value = ScalarOf(node)};
  entry.key_line = key.source().begin.line;
  entry.key_column = key.source().begin.column;
  entry.value_line = node.source().begin.line;
  entry.value_column = node.source().begin.column;
  return entry;
}

/// Nothing when an assertion of the library failed; the one known to is of a missing name, as in "[
/// = 1".
std::optional<toml::parse_result> Parse(std::string_view text) {
  try {
    return toml::parse(text);
  } catch (const std::logic_error&) {
    return std::nullopt;
  }
}

}  // namespace

StatusOr<std::vector<TomlEntry>> ReadTomlText(std::string_view text, std::string_view source) {
  if (text.size() > kMostBytes) {
    return InvalidArgumentError("{} has {} bytes; a run's description has at most {}", source,
                                text.size(), kMostBytes);
  }
  const std::optional<toml::parse_result> parsed = Parse(text);
  if (!parsed) return InvalidArgumentError("{}: not TOML: a [section] or key has no name", source);
  const toml::parse_result& result = *parsed;
  if (!result) {
    const toml::parse_error& error = result.error();
    return InvalidArgumentError("{}:{}:{}: {}", source, error.source().begin.line,
                                error.source().begin.column, error.description());
  }
  std::vector<TomlEntry> entries;
  for (const auto& [key, node] : result.table()) {
    entries.push_back(EntryOf(std::string(key.str()), key, node));
    const toml::table* section = node.as_table();
    if (section == nullptr) continue;
    entries.back().value = TomlSection{};
    for (const auto& [inner_key, inner] : *section) {
      entries.push_back(
          EntryOf(fmt::format("{}.{}", key.str(), inner_key.str()), inner_key, inner));
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const TomlEntry& a, const TomlEntry& b) {
    return std::tie(a.key_line, a.key_column) < std::tie(b.key_line, b.key_column);
  });
  return entries;
}

std::string_view TomlTypeName(const TomlValue& value) {
  if (const auto* other = std::get_if<TomlOther>(&value)) return other->type_name;
  constexpr std::string_view kNames[] = {"an integer", "a floating-point number", "a truth value",
                                         "a string", "a section"};
  return kNames[value.index()];
}

}  // namespace interlude
