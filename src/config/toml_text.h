// TOML text as a flat list of dotted keys with their places. The only file that knows the TOML
// library. Knows nothing of a run's keys. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"

namespace interlude {

/// A [section]; its keys follow as entries of their own.
struct TomlSection {};
/// A value of a kind that no key has: an array, a date, a table inside a section.
struct TomlOther {
  std::string_view type_name;  // "an array"
};
using TomlValue = std::variant<int64_t, double, bool, std::string, TomlSection, TomlOther>;

struct TomlEntry {
  std::string key;  // "round.codec", "seed", "round"
  TomlValue value;
  uint32_t key_line = 0;  // from 1
  uint32_t key_column = 0;
  uint32_t value_line = 0;
  uint32_t value_column = 0;
};

/// The entries in the order of their keys' places. InvalidArgument with source, line and column
/// when the text is not TOML, or longer than 24 KiB.
StatusOr<std::vector<TomlEntry>> ReadTomlText(std::string_view text, std::string_view source);

/// "a string", "a section"...
std::string_view TomlTypeName(const TomlValue& value);

}  // namespace interlude
